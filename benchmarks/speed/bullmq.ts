/**
 * BullMQ takes part if a Redis is given and the packages `bullmq` and `ioredis` are installed, which they are not by default. It
 * counts as no peer, because its pushes belong to no transaction of the user's database.
 */
import { input, topic } from './backlog-task.ts'
import { Bell, sample, warmUp } from './latency.ts'
import { concurrently, inBatches, producers } from './pushes.ts'
import { rateOf } from './scenario.ts'
import type { Figures, Groups, Prepare, Scale, Scenario } from './scenario.ts'

interface Queue {
  add(name: string, data: object, options?: object): Promise<unknown>
  addBulk(jobs: readonly { name: string; data: object; opts?: object }[]): Promise<unknown>
  obliterate(options: { force: boolean }): Promise<void>
  close(): Promise<void>
}

interface Worker {
  on(event: 'completed', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  waitUntilReady(): Promise<unknown>
  run(): Promise<void>
  close(force?: boolean): Promise<void>
}

/** The part of the package's interface that is used here. */
interface BullMq {
  readonly Queue: new (name: string, options: object) => Queue
  readonly Worker: new (name: string, handler: () => Promise<void>, options: object) => Worker
}

type Measure = (queue: Queue, scale: Scale, open: (handler: () => void, concurrency: number) => Worker) => Promise<Figures>

const payload = JSON.parse(input) as object
/** https://docs.bullmq.io/guide/queues/auto-removal-of-jobs: completed jobs are deleted, as with graphile-worker. */
const opts = { removeOnComplete: true }

const measures: Readonly<Record<string, Measure>> = {
  'push-single': (queue, { singles }) => concurrently(1, singles, () => queue.add(topic, payload, opts)),
  'push-10': (queue, { singles }) => concurrently(producers, singles, () => queue.add(topic, payload, opts)),
  'push-batch': pushBatch,
  'drain-1': async (queue, scale, open) => {
    await pushBatch(queue, scale)
    const all = Promise.withResolvers<void>()
    let completed = 0
    // https://docs.bullmq.io/guide/workers/concurrency
    const worker = open(() => {}, 100)
    worker.on('completed', () => {
      if (++completed === scale.batched) all.resolve()
    })
    await worker.waitUntilReady()
    const rate = await rateOf(scale.batched, async () => {
      void worker.run()
      await all.promise
    })
    await worker.close()
    return rate
  },
  latency: async (queue, { samples }, open) => {
    const bell = new Bell()
    const worker = open(bell.ring, 1)
    await worker.waitUntilReady()
    void worker.run()
    const idle = { bell, push: () => queue.add(topic, payload, opts) }
    await warmUp(idle)
    const figures = await sample(idle, samples)
    await worker.close(true)
    return figures
  },
}

function pushBatch(queue: Queue, { batched }: Scale): Promise<number> {
  return inBatches(batched, () => queue.addBulk(Array.from({ length: 1000 }, () => ({ name: topic, data: payload, opts }))))
}

/** Adds BullMQ to the scenarios. Without its packages the scenarios stay as they are, and a line on stderr says why. */
export async function withBullMq(groups: Groups, url: string): Promise<Groups> {
  let bullmq: BullMq
  try {
    // The packages are no dependencies, so they are imported by a variable name and without types.
    const [name, client]: string[] = ['bullmq', 'ioredis']
    bullmq = (await import(name!)) as BullMq
    await import(client!)
  } catch (error) {
    process.stderr.write(`BullMQ is left out: ${String(error)}\n`)
    return groups
  }
  const entries = Object.entries(groups).map(([group, scenarios]): [string, readonly Scenario[]] => [
    group,
    scenarios.map((scenario) => withSubject(scenario, bullmq, url)),
  ])
  return Object.fromEntries(entries)
}

function withSubject(scenario: Scenario, bullmq: BullMq, url: string): Scenario {
  const measure = measures[scenario.name]
  return measure ? { ...scenario, subjects: { ...scenario.subjects, bullmq: prepare(bullmq, url, measure) } } : scenario
}

let queues = 0

/** Each measurement has a queue of its own. */
function prepare({ Queue, Worker }: BullMq, url: string, measure: Measure): Prepare {
  return ({ scale }) =>
    Promise.resolve({
      measure: async () => {
        const name = `${topic}-${process.pid}-${++queues}`
        const connection = { url, maxRetriesPerRequest: null }
        const queue = new Queue(name, { connection })
        const figures = await measure(queue, scale, (handler, concurrency) => {
          const handle = (): Promise<void> => Promise.resolve(handler())
          const worker = new Worker(name, handle, { connection, concurrency, autorun: false })
          worker.on('error', () => {})
          return worker
        })
        await queue.obliterate({ force: true })
        await queue.close()
        return figures
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    })
}
