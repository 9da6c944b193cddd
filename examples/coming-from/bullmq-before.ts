/** A program with BullMQ. `bullmq.ts` is the same program on taskstream. */
import { Queue, Worker } from 'bullmq'

const connection = { url: process.env['REDIS_URL']!, maxRetriesPerRequest: null }
const mail = new Queue('mail', {
  connection,
  defaultJobOptions: { attempts: 5, backoff: { type: 'exponential', delay: 1_000 } },
})

// Once the transaction is committed: a crash in between loses the job
await mail.add('letter', { to: 'ann', text: 'Welcome' }, { deduplication: { id: 'ann' } })

// Later, and after others
await mail.add('letter', { to: 'bob', text: 'Your trial ends' }, { delay: Date.UTC(2100, 0) - Date.now() })
await mail.add('newsletter', { edition: 7 }, { priority: 10 })

export async function work(): Promise<void> {
  const worker = new Worker<{ to: string; text: string; edition: number }>(
    'mail',
    async ({ name, data }) => console.log(name === 'letter' ? `${data.to}: ${data.text}` : `edition ${data.edition}`),
    { connection, concurrency: 10 },
  )
  worker.on('error', console.error)
  await mail.upsertJobScheduler('cleanup', { pattern: '0 0 3 * * *', tz: 'Europe/Oslo' })
}

await mail.close()
