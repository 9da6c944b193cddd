/**
 * Pushes in batches and drains, with payloads of a given size. Their text is random, as a server would compress anything else to
 * nothing.
 */
import { randomBytes } from 'node:crypto'
import { pgTransactions } from '@taskstream/task-sql/pg'
import { topic } from './backlog-task.ts'
import { openBoss } from './boss.ts'
import { connect, poolOf } from './database.ts'
import type { Connection } from './database.ts'
import { graphile, plainTable, prepareTaskstream } from './pushes.ts'
import type { Measures, Scale } from './scenario.ts'
import { race } from './workers.ts'

/** @param batch tasks in a push; a push has ten megabytes at most */
export function payloads(bytes: number, batch: number): Measures {
  const body = randomBytes(bytes).toString('base64').slice(0, bytes)
  const input = JSON.stringify({ body })
  const payload = { body }
  const countOf = ({ payloadBytes, drained }: Scale): number =>
    batch * Math.max(1, Math.floor(Math.min(payloadBytes / bytes, drained) / batch))
  const order = { size: Math.min(1000, batch * 10) }

  /** Measures push and drain together, because a payload that is pushed fast may be slow to read. */
  async function rate(scale: Scale, push: () => Promise<unknown>, drain: (count: number) => Promise<number>): Promise<number> {
    const count = countOf(scale)
    const started = performance.now()
    for (let from = 0; from < count; from += batch) await push()
    const pushed = (performance.now() - started) / 1000
    return count / (pushed + count / (await drain(count)))
  }

  return {
    taskstream: async (connection, scale) => {
      const pool = poolOf(connection, 2)
      const tasks = await prepareTaskstream(pool)
      const transactions = pgTransactions(pool)
      const creations = Array.from({ length: batch }, (_, index) => ({ identifier: `customer ${index}`, input }))
      const figure = await rate(
        scale,
        () => transactions((transaction) => tasks.push(transaction, topic, creations)),
        (count) => race('product-worker.ts', [{ connection, ...order }], count),
      )
      await pool.end()
      return figure
    },
    'pg-boss': async (connection, scale) => {
      const boss = await openBoss(connection)
      const jobs = Array.from({ length: batch }, () => ({ data: payload }))
      const figure = await rate(
        scale,
        () => boss.insert(topic, jobs),
        (count) => race('peer-worker.ts', [{ connection, peer: 'pg-boss' }], count),
      )
      await boss.stop({ graceful: false })
      return figure
    },
    'graphile-worker': async (connection, scale) => {
      const pool = poolOf(connection, 2)
      const utils = await graphile(pool)
      const jobs = Array.from({ length: batch }, () => ({ identifier: topic, payload }))
      const figure = await rate(
        scale,
        () => utils.addJobs(jobs),
        (count) => race('peer-worker.ts', [{ connection, peer: 'graphile-worker' }], count),
      )
      await utils.release()
      await pool.end()
      return figure
    },
    limit: async (connection, scale) => {
      const client = await connect(connection)
      await plainTable(client)
      await client.query('alter table plain add column state smallint not null default 1')
      const values = [
        Array.from({ length: batch }, (_, index) => `customer ${index}`),
        Array.from({ length: batch }, () => input),
      ]
      const figure = await rate(
        scale,
        () => client.query('insert into plain (identifier, input) select * from unnest($1::text[], $2::text[])', values),
        (count) => drainPlain(connection, count, order.size),
      )
      await client.end()
      return figure
    },
  }
}

async function drainPlain(connection: Connection, count: number, size: number): Promise<number> {
  const client = await connect(connection)
  await client.query('vacuum analyze plain')
  const started = performance.now()
  for (let from = 0; from < count; from += size)
    await client.query('update plain set state = 6 where sequence > $1 and sequence <= $2 returning sequence, input', [
      from,
      from + size,
    ])
  const rate = (count / (performance.now() - started)) * 1000
  await client.end()
  return rate
}
