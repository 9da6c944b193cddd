/** Pushes: one task in the caller's transaction, ten producers without a transaction, and a thousand tasks at a time. */
import { Submitter } from '@taskstream/task-processor'
import { pgTransactions } from '@taskstream/task-sql/pg'
import type pg from 'pg'
import { input, topic } from './backlog-task.ts'
import { openBoss } from './boss.ts'
import { rateOf } from './cost.ts'
import type { Rate } from './cost.ts'
import { connect, poolOf } from './database.ts'
import type { Connection } from './database.ts'
import { graphile } from './graphile.ts'
import { NamedClient, peerPool } from './named-client.ts'
import { repository } from './product.ts'
import type { Measures } from './scenario.ts'

const payload = JSON.parse(input) as object

export async function prepareTaskstream(pool: pg.Pool): Promise<ReturnType<typeof repository>> {
  const tasks = repository()
  const transactions = pgTransactions(pool)
  await tasks.migrate(transactions)
  await transactions((transaction) => tasks.initialize(transaction, topic))
  return tasks
}

/** Pushes one task after another, each in a transaction that the caller begins and commits. */
async function inTransactions(
  { client, connection, count }: { client: pg.ClientBase; connection: Connection; count: number },
  push: (index: number) => Promise<unknown>,
): Promise<Rate> {
  return rateOf(connection, count, async () => {
    for (let index = 0; index < count; index++) {
      await client.query('begin')
      await push(index)
      await client.query('commit')
    }
  })
}

export const pushSingle: Measures = {
  taskstream: async (connection, scale) => {
    const pool = poolOf(connection, 2)
    const tasks = await prepareTaskstream(pool)
    const client = await connect(connection)
    const rate = await inTransactions({ client, connection, count: scale.singles }, (index) =>
      tasks.push(client, topic, { identifier: `customer ${index}`, input }),
    )
    await Promise.all([client.end(), pool.end()])
    return rate
  },
  'pg-boss': async (connection, scale) => {
    const boss = await openBoss(connection)
    const client = await connect(connection, NamedClient)
    // https://timgit.github.io/pg-boss: every call accepts the caller's own connection.
    const db = { executeSql: (text: string, values?: unknown[]) => client.query(text, values) }
    const rate = await inTransactions({ client, connection, count: scale.singles }, () => boss.send(topic, payload, { db }))
    await client.end()
    await boss.stop({ graceful: false })
    return rate
  },
  'graphile-worker': async (connection, scale) => {
    const pool = peerPool(connection, 2)
    const utils = await graphile(pool)
    const client = await connect(connection, NamedClient)
    // https://worker.graphile.org/docs/sql-add-job
    const rate = await inTransactions({ client, connection, count: scale.singles }, () =>
      client.query('select graphile_worker.add_job($1, $2::json)', [topic, input]),
    )
    await client.end()
    await utils.release()
    await pool.end()
    return rate
  },
  limit: async (connection, scale) => {
    const client = await connect(connection)
    await plainTable(client)
    const rate = await inTransactions({ client, connection, count: scale.singles }, (index) => insertOne(client, index))
    await client.end()
    return rate
  },
}

export const producers = 10

/** Keeps so many pushes under way: each producer waits for its push before it begins the next. */
export async function concurrently(producers: number, count: number, push: (index: number) => Promise<unknown>): Promise<void> {
  let index = 0
  const produce = async (): Promise<void> => {
    while (index < count) await push(index++)
  }
  await Promise.all(Array.from({ length: producers }, produce))
}

function byTen(connection: Connection, count: number, push: (index: number) => Promise<unknown>): Promise<Rate> {
  return rateOf(connection, count, () => concurrently(producers, count, push))
}

export const pushTen: Measures = {
  taskstream: async (connection, scale) => {
    const pool = poolOf(connection, producers)
    const tasks = await prepareTaskstream(pool)
    const submitter = new Submitter({ repository: tasks, transactions: pgTransactions(pool) })
    const rate = await byTen(connection, scale.singles, (index) =>
      submitter.submit(topic, { identifier: `customer ${index}`, input }),
    )
    await pool.end()
    return rate
  },
  'pg-boss': async (connection, scale) => {
    const boss = await openBoss(connection, producers)
    const rate = await byTen(connection, scale.singles, () => boss.send(topic, payload))
    await boss.stop({ graceful: false })
    return rate
  },
  'graphile-worker': async (connection, scale) => {
    const pool = peerPool(connection, producers)
    const utils = await graphile(pool)
    const rate = await byTen(connection, scale.singles, () => utils.addJob(topic, payload))
    await utils.release()
    await pool.end()
    return rate
  },
  limit: async (connection, scale) => {
    const pool = poolOf(connection, producers)
    await plainTable(pool)
    const rate = await byTen(connection, scale.singles, (index) => insertOne(pool, index))
    await pool.end()
    return rate
  },
}

const batch = 1000

async function inBatches(connection: Connection, count: number, push: (from: number) => Promise<unknown>): Promise<Rate> {
  return rateOf(connection, count, async () => {
    for (let from = 0; from < count; from += batch) await push(from)
  })
}

/**
 * Like `pushBatch`, but taskstream and the limit push four times as many: the peers' number would be over too soon to be measured.
 */
export const pushBatches: Measures = Object.fromEntries(
  ['taskstream', 'pg-boss', 'graphile-worker', 'limit'].map((subject): [string, Measures[string]] => [
    subject,
    (connection, scale) => {
      const batched = subject === 'taskstream' || subject === 'limit' ? 4 * scale.batched : scale.batched
      return pushBatch[subject]!(connection, { ...scale, batched })
    },
  ]),
)

const pushBatch: Measures = {
  taskstream: async (connection, scale) => {
    const pool = poolOf(connection, 2)
    const tasks = await prepareTaskstream(pool)
    // Pushes without a transaction of the caller's own, as the peers do.
    await using submitter = new Submitter({ repository: tasks, transactions: pgTransactions(pool) })
    const rate = await inBatches(connection, scale.batched, (from) =>
      submitter.submit(
        topic,
        Array.from({ length: batch }, (_, index) => ({ identifier: `customer ${from + index}`, input })),
      ),
    )
    await pool.end()
    return rate
  },
  'pg-boss': async (connection, scale) => {
    const boss = await openBoss(connection)
    const rate = await inBatches(connection, scale.batched, () =>
      boss.insert(
        topic,
        Array.from({ length: batch }, () => ({ data: payload })),
      ),
    )
    await boss.stop({ graceful: false })
    return rate
  },
  'graphile-worker': async (connection, scale) => {
    const pool = peerPool(connection, 2)
    const utils = await graphile(pool)
    const rate = await inBatches(connection, scale.batched, () =>
      utils.addJobs(Array.from({ length: batch }, () => ({ identifier: topic, payload }))),
    )
    await utils.release()
    await pool.end()
    return rate
  },
  limit: async (connection, scale) => {
    const client = await connect(connection)
    await plainTable(client)
    const rate = await rateOf(connection, scale.batched, () => insertBatches(client, scale.batched))
    await client.end()
    return rate
  },
}

export async function plainTable(client: pg.ClientBase | pg.Pool): Promise<void> {
  await client.query('create table plain (sequence bigserial primary key, identifier text not null, input text)')
}

export async function insertBatches(client: pg.ClientBase, count: number): Promise<void> {
  const text = 'insert into plain (identifier, input) select * from unnest($1::text[], $2::text[]) returning sequence'
  for (let from = 0; from < count; from += batch) {
    const values = [
      Array.from({ length: batch }, (_, index) => `customer ${from + index}`),
      Array.from({ length: batch }, () => input),
    ]
    await client.query({ name: 'many', text, values })
  }
}

export function insertOne(client: pg.ClientBase | pg.Pool, index: number): Promise<unknown> {
  const text = 'insert into plain (identifier, input) values ($1, $2)'
  return client.query({ name: 'one', text, values: [`customer ${index}`, input] })
}
