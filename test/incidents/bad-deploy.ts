import type { Incident } from './incident.ts'
import { goTo, openFirst, pressButton } from './keyboard.ts'
import { typed } from './terminal.ts'

/** One release handles invoices, the next one throws at each. */
export const badDeploy: Incident = {
  name: 'bad-deploy',
  happened: 'release 4.2.1 throws at every invoice; 4.2.0 did not',
  engines: ['sqlite', 'postgres', 'mariadb'],
  stage: async (site) => {
    const { tasks } = site
    const topic = 'invoices'
    await site.commit((transaction) => tasks.initialize(transaction, topic))
    const push = (...names: string[]): Promise<unknown> =>
      site.commit((transaction) => tasks.push(transaction, topic, names) as unknown)
    await push('inv-1', 'inv-2')
    const old = await site.start({ role: 'node', name: 'worker-1', release: '4.2.0', topic })
    await old.until('ended', 2)
    await old.stop()
    const throws = "Cannot read properties of undefined (reading 'total')"
    const bad = await site.start({ role: 'node', name: 'worker-1', release: '4.2.1', topic, throws })
    await push('inv-3', 'inv-4', 'inv-5')
    await bad.until('ended', 3)
    const deploy = async (): Promise<number | undefined> => {
      await bad.stop()
      return (await site.start({ role: 'node', name: 'worker-1', release: '4.2.2', topic })).pid
    }
    return {
      question: 'The shop was deployed an hour ago. Since then customers complain that they get no invoices.',
      finds: {
        command: ['errors', topic],
        shows: /invoices +3 +3 +0 +Error: Cannot read properties of undefined \(reading 'total'\) +\S+ +4\.2\.1 /,
      },
      shown: {
        page: 'errors?topic=invoices',
        shows: /Cannot read properties of undefined \(reading 'total'\)[^]*4\.2\.1/,
        route: 'errors?topic=invoices',
        answers: /"firstRelease":"4\.2\.1"/,
        byKeyboard: {
          leads: async (keys) => {
            await goTo(keys, 'e', /\/errors$/)
            await openFirst(keys, /\/errors\/./)
            await keys.sees(/Cannot read properties of undefined[^]*4\.2\.1/)
          },
          mends: async (keys) => {
            await deploy()
            await keys.press('r')
            await keys.sees(/1 task will be ready again/)
            await pressButton(keys, /^Redrive 1$/, /\/act$/)
            await keys.sees(/1 task is ready again/)
            await pressButton(keys, /^redrive the rest$/, /\/act$/)
            await keys.sees(/2 tasks will be ready again/)
            await pressButton(keys, /^Redrive 2$/, /\/act$/)
            await keys.sees(/2 tasks are ready again/)
          },
        },
      },
      remedy: /try: (taskstream redrive .*)$/gm,
      carryOut: async (commands) => {
        const done = [`deployed release 4.2.2, which handles such invoices: process ${await deploy()}`]
        for (const command of commands) done.push(await typed(site, command))
        return done
      },
      also: [
        { command: ['changes'], shows: /error +invoices: Error: Cannot read .*, first seen in release 4\.2\.1$/m },
        {
          command: ['attention'],
          shows: /failing-new +invoices: 3 × Error: Cannot read .* in release 4\.2\.1 +taskstream errors invoices/,
          code: 4,
        },
      ],
      after: { command: ['errors', topic], shows: /invoices +3 +0 +0 +Error: Cannot read.*\n$/ },
    }
  },
}
