/** An idle process with one subject, which pushes a task to itself for each measurement. */
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { pgListener, pgTransactions } from '@taskstream/task-sql/pg'
import { Logger, run } from 'graphile-worker'
import pg from 'pg'
import { PgBoss } from 'pg-boss'
import { input, topic } from './backlog-task.ts'
import { bossOptions } from './boss.ts'
import { poolOf } from './database.ts'
import type { Connection } from './database.ts'
import { Bell, sample, warmUp } from './latency.ts'
import type { Idle } from './latency.ts'
import { graphile } from './graphile.ts'
import { peerPool } from './named-client.ts'
import { repository } from './product.ts'
import { prepareTaskstream } from './pushes.ts'

/** The first message says which subject waits on which database, the next how many latencies to measure. */
export type LatencyOrder =
  | { readonly subject: keyof typeof subjects; readonly connection: Connection }
  | { readonly samples: number }

const payload = JSON.parse(input) as object

/** Tasks are pushed on connections of their own, without a transaction. */
const subjects = {
  taskstream: async (connection: Connection): Promise<Idle> => {
    const pool = poolOf(connection, 4)
    const tasks = await prepareTaskstream(pool)
    const { autocommit } = pgTransactions(poolOf(connection, 1))
    const bell = new Bell()
    const node = new TaskNode({
      repository: repository(),
      transactions: pgTransactions(pool),
      notifier: pgListener(() => new pg.Client(connection)),
    })
    node.process(topic, { handler: eachTask(bell.ring) })
    await node.start()
    return { bell, push: () => autocommit!((client) => tasks.push(client, topic, { identifier: 'customer', input })) }
  },
  // https://timgit.github.io/pg-boss: the server wakes workers only if the instance and the queue ask for it.
  'pg-boss': async (connection: Connection): Promise<Idle> => {
    const worker = await openNotified(connection)
    const pusher = await openNotified(connection)
    const bell = new Bell()
    await worker.work(topic, { pollingIntervalSeconds: 0.5 }, () => Promise.resolve(bell.ring()))
    return { bell, push: () => pusher.send(topic, payload) }
  },
  // LISTEN and NOTIFY are graphile-worker's default.
  'graphile-worker': async (connection: Connection): Promise<Idle> => {
    const logger = new Logger(() => () => {})
    const utils = await graphile(peerPool(connection, 1))
    const bell = new Bell()
    await run({ pgPool: peerPool(connection, 4), logger, noHandleSignals: true, taskList: { [topic]: bell.ring } })
    return { bell, push: () => utils.addJob(topic, payload) }
  },
}

async function openNotified(connection: Connection): Promise<PgBoss> {
  const boss = new PgBoss({ ...bossOptions(connection, 4), useListenNotify: true })
  boss.on('error', () => {})
  await boss.start()
  await boss.createQueue(topic, { notify: true })
  return boss
}

let idle: Idle | undefined
process.on('message', async (order: LatencyOrder) => {
  if ('subject' in order) {
    idle = await subjects[order.subject](order.connection)
    await warmUp(idle)
    process.send?.({})
  } else process.send?.(await sample(idle!, order.samples))
})
// The parent has gone, so nothing needs to be kept.
process.once('disconnect', () => process.exit())
