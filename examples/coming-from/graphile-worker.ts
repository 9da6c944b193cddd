/** What `graphile-worker-before.ts` does, on taskstream. */
import pg from 'pg'
import { defineJob, exponential, taskstream } from 'taskstream/pg'
import { z } from 'zod'

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'] })
const stream = taskstream(pool, { listener: {} })
const letter = defineJob('letter', {
  input: z.object({ to: z.string(), text: z.string() }),
  key: ({ to }) => to,
  ordered: true,
  order: 'priority',
  retry: exponential({ tries: 5, firstMs: 1_000 }),
})
const cleanup = defineJob('cleanup', { timer: '03:00 UTC' })

// In a transaction
await stream.prepare(letter)
await stream.transaction((tx) => stream.push(tx, letter, { to: 'dan', text: 'Welcome' }))

// Later, and sooner than others
await stream.submit(letter, { to: 'ida', text: 'Your trial ends' }, { due: new Date('2100-01-01T00:00:00Z') })
await stream.submit(letter, { to: 'kai', text: 'Your code is 5678' }, { priority: 10 })

stream.handle(letter, ({ input }) => console.log(`${input.to}: ${input.text}`), { concurrency: 10 })
stream.handle(cleanup, () => console.log('cleaned up'))
await stream.start({ stopOn: ['SIGTERM', 'SIGINT'] })
