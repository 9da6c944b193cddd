/** Drains with BullMQ. Its jobs are in Redis, so that rows that a handler writes are not committed with the completion. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'bullmq'
import { poolOf } from './database.ts'
import { atOnce, failing, topicsOf, waitMs, writtenText } from './drain-order.ts'
import type { DrainOrder, OpenDrain } from './drain-order.ts'

/** https://docs.bullmq.io/guide/workers/concurrency */
const many = 100

function concurrencyOf({ settings, does, topics = 1 }: DrainOrder): number {
  if (settings === 'default') return 1
  return Math.ceil((does === 'wait' ? atOnce : many) / topics)
}

export const open: OpenDrain = async (order, done) => {
  const { connection, redis, does = 'nothing' } = order
  const pool = poolOf(connection, 10)
  const fails = failing()
  const handle = async (): Promise<void> => {
    if (does === 'write') await pool.query(writtenText)
    if (does === 'wait') await sleep(waitMs)
    if (does === 'fail' && fails()) throw new Error('for good')
  }
  const options = { connection: { path: redis!, maxRetriesPerRequest: null }, concurrency: concurrencyOf(order), autorun: false }
  const workers = topicsOf(order).map((topic) => new Worker(topic, handle, options))
  for (const worker of workers) {
    worker.on('error', () => {})
    worker.on('completed', () => done(1))
    worker.on('failed', () => done(1))
    await worker.waitUntilReady()
  }
  return {
    start: () => {
      for (const worker of workers) void worker.run()
      return Promise.resolve()
    },
    stop: async () => {
      await Promise.all(workers.map((worker) => worker.close(true)))
      await pool.end()
    },
  }
}
