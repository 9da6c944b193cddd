import type { Incident } from './incident.ts'
import { findTask } from './keyboard.ts'
import { typed } from './terminal.ts'

/** A pause outlives the terminal, the process and the memory of whoever made it. */
export const pausedAndForgotten: Incident = {
  name: 'paused-and-forgotten',
  happened: 'somebody paused the topic three days ago, and went on leave',
  engines: ['sqlite', 'postgres', 'mariadb'],
  stage: async (site) => {
    const { tasks } = site
    const topic = 'invoices'
    await site.commit((transaction) => tasks.initialize(transaction, topic))
    await typed(site, `taskstream pause ${topic} --note 'the bank is down'`)
    await site.commit((transaction) => tasks.push(transaction, topic, ['inv-7', 'inv-8']))
    await site.age('activation', 'changed', 3 * 86_400_000)
    await site.start({ role: 'node', name: 'worker-1', release: '4.2.0', topic })
    return {
      question: 'No invoice has gone out since Monday. All processes run, and their logs have no errors.',
      finds: {
        command: ['why', topic, '@1'],
        shows: /^paused: inv-7 @1 topic invoices was paused 3 d ago by \S+@\S+: the bank is down\n/,
      },
      shown: {
        page: 'topics/invoices/tasks/1',
        shows: /paused[^]*3 d ago by \S+@\S+: the bank is down/,
        route: 'topics/invoices/tasks/1/why',
        answers: /"code":"paused"/,
        byKeyboard: {
          leads: async (keys) => {
            await findTask(keys, '@1')
            await keys.sees(/paused[^]*3 d ago by \S+@\S+: the bank is down/)
          },
          mends: async (keys) => {
            // It goes to the button that resumes.
            await keys.press('p', 'Enter')
            await keys.isAt(/\/resume$/)
            await keys.sees(/Done\./)
          },
        },
      },
      remedy: /try: (taskstream resume .*)$/gm,
      carryOut: async ([command = '']) => [await typed(site, command)],
      also: [
        {
          command: ['attention'],
          shows: /paused-long +invoices has been paused for 3 d.*: the bank is down, .* taskstream resume invoices$/m,
          code: 4,
        },
        { command: ['audit', topic], shows: /pause +invoices .*\S+@\S+ +the bank is down/ },
        {
          command: ['doctor'],
          shows: /\nwarn paused: invoices has been paused for 3 d.*\n {2}taskstream resume invoices\n/,
          code: 4,
        },
      ],
      after: { command: ['why', topic, '@2'], shows: /^succeeded: inv-8 @2/ },
    }
  },
}
