import type { Incident } from './incident.ts'
import { findTask, pressButton } from './keyboard.ts'
import { typed } from './terminal.ts'

/** Of one customer the order of invoices counts, so an invoice that has failed keeps back all that come after it. */
export const poisonedIdentifier: Incident = {
  name: 'poisoned-identifier',
  happened: 'the first invoice of a customer has failed, and all later ones of this customer wait for it',
  engines: ['sqlite', 'postgres', 'mariadb'],
  stage: async (site) => {
    const { tasks } = site
    const topic = 'invoices'
    const condition = 'singular-by-identifier-suspend-on-failure'
    await site.commit((transaction) => tasks.initialize(transaction, topic, { condition }))
    const worker = await site.start({
      role: 'node',
      name: 'worker-1',
      release: '4.2.0',
      topic,
      throws: 'CardDeclined: insufficient funds',
    })
    await site.commit((transaction) => tasks.push(transaction, topic, ['customer-7']))
    await worker.until('ended', 1)
    // The bank answers again, and nobody tells the invoice that has failed.
    await worker.mend()
    await site.age('task', 'completed', 2 * 3_600_000)
    await site.commit((transaction) => tasks.push(transaction, topic, ['customer-7', 'customer-7', 'customer-8']))
    await worker.until('ended', 2)
    return {
      question: 'Customer 7 gets no invoices any more. All others do.',
      finds: {
        command: ['why', topic, 'customer-7'],
        shows:
          /^out-of-turn: customer-7 @2 waits for its turn: invoices\/customer-7@1 comes first, and failed 2 h ago \(Error: CardDeclined: insufficient funds\)\n/,
      },
      shown: {
        page: 'topics/invoices/tasks/id:customer-7',
        shows: /out-of-turn[^]*customer-7 ?@1[^]*insufficient funds[^]*taskstream redrive/,
        route: 'topics/invoices/tasks/id:customer-7/why',
        answers: /"code":"out-of-turn"/,
        byKeyboard: {
          leads: async (keys) => {
            await findTask(keys, 'customer-7')
            await keys.sees(/out-of-turn[^]*insufficient funds/)
          },
          mends: async (keys) => {
            await keys.press('r')
            await keys.isAt(/\/act$/)
            await keys.sees(/1 task will be ready again/)
            await pressButton(keys, /^Redrive 1$/, /\/act$/)
            await keys.sees(/1 task is ready again/)
          },
        },
      },
      remedy: /try: (taskstream redrive .*)$/gm,
      carryOut: async ([command = '']) => [await typed(site, command)],
      also: [
        {
          command: ['why', topic, '@2', '--expect', 'next'],
          shows: /try: taskstream reassign invoices --state failed --from 1 --to 1 --result filter/,
          code: 4,
        },
        { command: ['errors', topic], shows: /invoices +1 +1 +0 +Error: CardDeclined: insufficient funds/ },
      ],
      after: { command: ['why', topic, '@3'], shows: /^succeeded: customer-7 @3/ },
    }
  },
}
