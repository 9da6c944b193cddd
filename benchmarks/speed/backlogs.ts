/** Pushes the backlogs of drains, and lets the server analyze them, as autovacuum would have done in time. */
import { pgTransactions } from '@taskstream/task-sql/pg'
import { input } from './backlog-task.ts'
import { openBoss } from './boss.ts'
import { connect, poolOf } from './database.ts'
import type { Connection } from './database.ts'
import { topicsOf, writtenTable } from './drain-order.ts'
import { graphile } from './graphile.ts'
import { peerPool } from './named-client.ts'
import { repository } from './product.ts'

export interface Backlog {
  readonly count: number
  /** Default 1. The tasks are spread evenly. */
  readonly topics?: number
  /** A peer's job that fails is not tried again. taskstream's node says so when it handles. */
  readonly isTriedOnce?: boolean
}

const batch = 1000
const payload = JSON.parse(input) as object

type Push = (connection: Connection, backlog: Backlog) => Promise<void>

const taskstream: Push = async (connection, { count, topics = 1 }) => {
  const pool = poolOf(connection, 1)
  const tasks = repository()
  const transactions = pgTransactions(pool)
  await tasks.migrate(transactions)
  for (const topic of topicsOf({ topics })) {
    await transactions((transaction) => tasks.initialize(transaction, topic))
    for (const [from, size] of batchesOf(count / topics)) {
      const creations = Array.from({ length: size }, (_, index) => ({ identifier: `customer ${from + index}`, input }))
      await transactions((transaction) => tasks.push(transaction, topic, creations))
    }
  }
  await pool.end()
}

const pgBoss: Push = async (connection, { count, topics = 1, isTriedOnce }) => {
  const boss = await openBoss(connection)
  for (const topic of topicsOf({ topics })) {
    if (topics > 1) await boss.createQueue(topic)
    for (const [, size] of batchesOf(count / topics)) {
      const job = { data: payload, ...(isTriedOnce && { retryLimit: 0 }) }
      await boss.insert(
        topic,
        Array.from({ length: size }, () => job),
      )
    }
  }
  await boss.stop({ graceful: false })
}

const graphileWorker: Push = async (connection, { count, topics = 1, isTriedOnce }) => {
  const pool = peerPool(connection, 2)
  const utils = await graphile(pool)
  const names = topicsOf({ topics })
  for (const [from, size] of batchesOf(count)) {
    const jobs = Array.from({ length: size }, (_, index) => {
      const identifier = names[(from + index) % topics]!
      return { identifier, payload, ...(isTriedOnce && { maxAttempts: 1 }) }
    })
    await utils.addJobs(jobs)
  }
  await utils.release()
  await pool.end()
}

const pushes = { taskstream, 'pg-boss': pgBoss, 'graphile-worker': graphileWorker } as const

export type BacklogSubject = keyof typeof pushes

export async function pushBacklog(subject: BacklogSubject, connection: Connection, backlog: Backlog): Promise<void> {
  await pushes[subject](connection, backlog)
  const client = await connect(connection)
  await client.query(writtenTable)
  await client.end()
  await analyze(connection)
}

export async function analyze(connection: Connection): Promise<void> {
  const client = await connect(connection)
  await client.query('analyze')
  await client.end()
}

/** The batches of so many tasks: where each begins, and its size. */
export function batchesOf(count: number): [from: number, size: number][] {
  return Array.from({ length: Math.ceil(count / batch) }, (_, index) => [index * batch, Math.min(batch, count - index * batch)])
}
