import { periodicTasks } from '@taskstream/task-scheduler'
import type { Incident } from './incident.ts'
import { goTo, openFirst, pressButton } from './keyboard.ts'

/** A timer is a row: without a scheduler nobody looks at it. */
export const timerWithoutScheduler: Incident = {
  name: 'timer-without-scheduler',
  happened: 'the process with the scheduler was never started again',
  engines: ['sqlite', 'postgres', 'mariadb'],
  stage: async (site) => {
    const { tasks } = site
    const topic = 'invoices'
    await site.commit((transaction) => tasks.initialize(transaction, topic))
    await site.start({ role: 'node', name: 'worker-1', release: '4.2.0', topic })
    const timer = { id: 'nightly-invoices', timer: 'hourly', topic, identifier: 'all' }
    await site.commit((transaction) => periodicTasks(tasks).schedule(transaction, timer) as unknown)
    await site.age('periodic', 'due', 3_600_000)
    return {
      question: 'The nightly invoices were not made. Workers run and are idle.',
      finds: {
        command: ['attention'],
        shows: /crit +timer-overdue +timer nightly-invoices of scope system has been due for 1 h, and nobody fires it/,
        code: 4,
      },
      shown: {
        page: '',
        shows: /crit[^]*timer nightly-invoices of scope system has been due for 1 h/,
        route: 'attention',
        answers: /"id":"timer-overdue","severity":"crit"/,
        byKeyboard: {
          leads: async (keys) => {
            await keys.sees(/crit[^]*timer nightly-invoices of scope system has been due for 1 h/)
            await goTo(keys, 'i', /\/timers$/)
            await openFirst(keys, /\/timers\/system\/nightly-invoices$/)
            await keys.sees(/overdue: does a scheduler run\?/)
          },
          // What was missed is made up for by a page; from then on somebody has to start a scheduler.
          mends: async (keys) => {
            await pressButton(keys, /^Run now$/, /\/run$/)
            await keys.sees(/Done\./)
            await site.start({ role: 'scheduler', name: 'scheduler-1', release: '4.2.0', topic })
          },
        },
      },
      remedy: /(start a process with a scheduler of scope \S+)/g,
      carryOut: async ([remedy = '']) => {
        const { pid } = await site.start({ role: 'scheduler', name: 'scheduler-1', release: '4.2.0', topic })
        return [`${remedy}: process ${pid}`]
      },
      also: [
        {
          command: ['doctor'],
          shows: /\ncrit timer-overdue: timer nightly-invoices of scope system has been due for 1 h, and nobody fires it/,
          code: 4,
        },
        { command: ['periodic', 'ls'], shows: /nightly-invoices +/ },
      ],
      after: { command: ['attention'], shows: /^(nothing needs attention|severity +what)(?![^]*timer-overdue)/ },
    }
  },
}
