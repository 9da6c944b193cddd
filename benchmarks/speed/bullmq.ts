/**
 * BullMQ, on a Redis without an append-only file, and on one that flushes it each second. It counts as no peer, because its pushes
 * and completions belong to no transaction of the user's database.
 */
import { Queue, Worker } from 'bullmq'
import type { RedisServer } from '../../test/redis.ts'
import { input, topic } from './backlog-task.ts'
import { batchesOf } from './backlogs.ts'
import { rateOf } from './cost.ts'
import { connect, withDatabase } from './database.ts'
import { topicsOf, writtenTable } from './drain-order.ts'
import type { DrainOptions } from './drains.ts'
import { Bell, sample, warmUp } from './latency.ts'
import { concurrently, producers } from './pushes.ts'
import { race } from './race.ts'
import { meterOfRedis } from './redis-servers.ts'
import type { Figures, Prepare, Scenario, Setting } from './scenario.ts'
import { logged, unlogged } from './subjects.ts'

const payload = JSON.parse(input) as object
/** https://docs.bullmq.io/guide/queues/auto-removal-of-jobs: completed jobs are deleted, as with graphile-worker. */
const opts = { removeOnComplete: true, removeOnFail: true }
/** It has fewer jobs than the others, as it is slower in a drain. */
const part = 0.5

type Measure = (redis: RedisServer, setting: Setting) => Promise<Figures>

/** Both subjects. Each measurement begins with an empty Redis. */
function subjects(measure: Measure): Scenario['subjects'] {
  const prepare =
    (isLogged: boolean): Prepare =>
    async (setting) => {
      const redis = await setting.redis(isLogged)
      return {
        measure: async () => {
          await redis.client.flushall()
          return measure(redis, setting)
        },
        [Symbol.asyncDispose]: () => Promise.resolve(),
      }
    }
  return { [unlogged]: prepare(false), [logged]: prepare(true) }
}

function connectionOf({ socket }: RedisServer): { path: string; maxRetriesPerRequest: null } {
  return { path: socket, maxRetriesPerRequest: null }
}

async function withQueue<Result>(redis: RedisServer, work: (queue: Queue) => Promise<Result>, name = topic): Promise<Result> {
  const queue = new Queue(name, { connection: connectionOf(redis) })
  await queue.waitUntilReady()
  try {
    return await work(queue)
  } finally {
    await queue.close()
  }
}

/** Adds one job after another, by so many producers. */
function singles(lanes: number): Scenario['subjects'] {
  return subjects((redis, { scale }) =>
    withQueue(redis, (queue) =>
      rateOf(meterOfRedis(redis), scale.singles, () => concurrently(lanes, scale.singles, () => queue.add(topic, payload, opts))),
    ),
  )
}

async function addBatches(queue: Queue, count: number, options: object): Promise<void> {
  for (const [, size] of batchesOf(count))
    await queue.addBulk(Array.from({ length: size }, () => ({ name: topic, data: payload, opts: options })))
}

export const bullSingle: Scenario['subjects'] = singles(1)
export const bullTen: Scenario['subjects'] = singles(producers)
export const bullBatches: Scenario['subjects'] = subjects((redis, { scale: { batched } }) =>
  withQueue(redis, (queue) => rateOf(meterOfRedis(redis), batched, () => addBatches(queue, batched, opts))),
)

/** Handlers that write do so in PostgreSQL, in a transaction of their own. */
export function bullDrain(options: DrainOptions = {}): Scenario['subjects'] {
  const { processes = 1, count = ({ batched }) => batched, mostMs, ...order } = options
  return subjects((redis, { server, scale }) =>
    withDatabase(server, async (connection) => {
      const client = await connect(connection)
      await client.query(writtenTable)
      await client.end()
      const topics = topicsOf(order)
      const tasks = part * count(scale)
      for (const name of topics)
        await withQueue(
          redis,
          (queue) => addBatches(queue, tasks / topics.length, order.settings === 'default' ? {} : opts),
          name,
        )
      const orders = Array.from({ length: processes }, () => ({
        ...order,
        subject: 'BullMQ' as const,
        connection,
        redis: redis.socket,
      }))
      return race(orders, tasks, { meter: meterOfRedis(redis), ...(mostMs && { mostMs: mostMs(scale) }) })
    }),
  )
}

export const bullLatency: Scenario['subjects'] = subjects((redis, { scale }) =>
  withQueue(redis, async (queue) => {
    const bell = new Bell()
    const handle = (): Promise<void> => Promise.resolve(bell.ring())
    const worker = new Worker(topic, handle, { connection: connectionOf(redis), autorun: false })
    worker.on('error', () => {})
    await worker.waitUntilReady()
    void worker.run()
    const idle = { bell, push: () => queue.add(topic, payload, opts) }
    await warmUp(idle)
    const figures = await sample(idle, scale.samples)
    await worker.close(true)
    return figures
  }),
)
