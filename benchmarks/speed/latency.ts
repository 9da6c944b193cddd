/** From the call that pushes a task to an idle topic to the call of its handler, in milliseconds. Pushed on connections of the pusher's own. */
import { setTimeout as sleep } from 'node:timers/promises'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { pgListener, pgTransactions } from '@taskstream/task-sql/postgres'
import { Logger, makeWorkerUtils, run } from 'graphile-worker'
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import type { ConstructorOptions } from 'pg-boss'
import type { Connection } from '../hot-path/database.ts'
import { topic } from '../hot-path/database.ts'
import { input } from '../hot-path/drain.ts'
import { poolOf } from '../hot-path/peers.ts'
import { repository } from '../hot-path/product.ts'
import { ask } from './ask.ts'
import type { LatencyOrder } from './latency-worker.ts'
import { prepareTaskstream } from './pushes.ts'
import type { Figures, Measures } from './scenario.ts'

const payload = JSON.parse(input) as object
const idleMs = 10
const lostMs = 60_000

/** Tells a handler's start to whoever waits for it. */
export class Bell {
  #ring: () => void = () => {}
  readonly ring = (): void => this.#ring()

  wait(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => reject(new Error(`Nothing was handled for ${lostMs} ms`)), lostMs)
    this.#ring = () => {
      clearTimeout(timer)
      resolve()
    }
    return promise
  }
}

/** Left out, and without a pause: what is measured is a process that has run for a while, its code compiled and its statements planned. */
const warmUp = 400

/** The last of those are with pauses again. */
const settling = 5

export async function sample(count: number, bell: Bell, push: () => Promise<unknown>): Promise<Figures> {
  const times: number[] = []
  for (let index = -warmUp; index < count; index++) {
    // Completed and asleep again.
    if (index >= -settling) await sleep(idleMs)
    const rung = bell.wait()
    const started = performance.now()
    const pushed = push()
    await rung
    if (index >= 0) times.push(performance.now() - started)
    await pushed
  }
  const sorted = times.toSorted((left, right) => left - right)
  const percentile = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
  return { latency: percentile(0.5), 'latency-p95': percentile(0.95), 'latency-p99': percentile(0.99) }
}

export const latency: Measures = {
  taskstream: async (connection, { samples }) => {
    const pool = poolOf(connection, 4)
    const pushing = poolOf(connection, 1)
    const tasks = await prepareTaskstream(pool)
    // Without a transaction, as the peers push.
    const { autocommit } = pgTransactions(pushing)
    const bell = new Bell()
    const node = new TaskNode({
      repository: repository(),
      transactions: pgTransactions(pool),
      notifier: pgListener(() => new pg.Client(connection)),
    })
    node.process(topic, { handler: eachTask(bell.ring) })
    await node.start()
    const figures = await sample(samples, bell, () =>
      autocommit!((client) => tasks.push(client, topic, { identifier: 'customer', input })),
    )
    await node.stop()
    await Promise.all([pool.end(), pushing.end()])
    return figures
  },
  // https://timgit.github.io/pg-boss: woken by the server, on an instance and a queue that ask for it.
  'pg-boss': async (connection, { samples }) => {
    const worker = await openNotified(connection)
    const pusher = await openNotified(connection)
    const bell = new Bell()
    await worker.work(topic, { pollingIntervalSeconds: 0.5 }, () => Promise.resolve(bell.ring()))
    const figures = await sample(samples, bell, () => pusher.send(topic, payload))
    await Promise.all([worker.stop({ graceful: false }), pusher.stop({ graceful: false })])
    return figures
  },
  // LISTEN and NOTIFY are its default.
  'graphile-worker': async (connection, { samples }) => {
    const logger = new Logger(() => () => {})
    const pgPool = poolOf(connection, 4)
    const pushing = poolOf(connection, 1)
    const utils = await makeWorkerUtils({ pgPool: pushing, logger })
    await utils.migrate()
    const bell = new Bell()
    const runner = await run({ pgPool, logger, noHandleSignals: true, taskList: { [topic]: bell.ring } })
    const figures = await sample(samples, bell, () => utils.addJob(topic, payload))
    await runner.stop()
    await utils.release()
    await Promise.all([pgPool.end(), pushing.end()])
    return figures
  },
}

/** Each in a process of its own, as it is in use. */
export const latencyInProcesses: Measures = Object.fromEntries(
  Object.keys(latency).map((subject) => [
    subject,
    (connection, scale) => ask<Figures>('latency-worker.ts', { connection, subject, scale } satisfies LatencyOrder),
  ]),
)

async function openNotified(connection: Connection): Promise<PgBoss> {
  const options = { ...connection, max: 4, supervise: false, schedule: false, useListenNotify: true } as ConstructorOptions
  const boss = new PgBoss(options)
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue(topic, { notify: true })
  return boss
}
