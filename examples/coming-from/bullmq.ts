/** What `bullmq-before.ts` does, on taskstream. */
import { DatabaseSync } from 'node:sqlite'
import { defineJob, defineQueue, exponential, json, taskstream } from 'taskstream/node-sqlite'

const stream = taskstream(new DatabaseSync(process.env['DATABASE_FILE']!), { listener: {} })
const mail = defineQueue('mail', { keyed: true, order: 'priority', retry: exponential({ tries: 5, firstMs: 1_000 }) })
const letter = defineJob('letter', { queue: mail, input: json<{ to: string; text: string }>(), key: ({ to }) => to })
const newsletter = defineJob('newsletter', {
  queue: mail,
  input: json<{ edition: number }>(),
  key: ({ edition }) => `edition ${edition}`,
  priority: -10,
})
const cleanup = defineJob('cleanup', { timer: '03:00 Europe/Oslo' })

// In the transaction: both are committed, or neither
await stream.prepare(letter, newsletter)
await stream.transaction((tx) => stream.push(tx, letter, { to: 'dan', text: 'Welcome' }))

// Later, and after others
await stream.submit(letter, { to: 'ida', text: 'Your trial ends' }, { due: new Date('2100-01-01T00:00:00Z') })
await stream.submit(newsletter, { edition: 8 })

stream.handle(letter, ({ input }) => console.log(`${input.to}: ${input.text}`))
stream.handle(newsletter, ({ input }) => console.log(`edition ${input.edition}`))
stream.route(mail, {}, { concurrency: 10 })
stream.handle(cleanup, () => console.log('cleaned up'))
await stream.start({ stopOn: ['SIGTERM', 'SIGINT'] })
