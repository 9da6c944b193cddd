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
import { analyze } from './backlogs.ts'
import { addCosts, Rate, rateOf } from './cost.ts'
import { graphile } from './graphile.ts'
import { peerPool } from './named-client.ts'
import { plainTable, prepareTaskstream } from './pushes.ts'
import { race } from './race.ts'
import type { Measures, Scale } from './scenario.ts'

/** @param batch tasks in a push; a push has ten megabytes at most */
export function payloads(bytes: number, batch: number): Measures {
  const body = randomBytes(bytes).toString('base64').slice(0, bytes)
  const input = JSON.stringify({ body })
  const payload = { body }
  const countOf = ({ payloadBytes, drained }: Scale): number =>
    batch * Math.max(1, Math.floor(Math.min(payloadBytes / bytes, drained) / batch))
  const order = { size: Math.min(1000, batch * 10) }

  /** Measures push and drain together, because a payload that is pushed fast may be slow to read. */
  async function rate(
    connection: Connection,
    scale: Scale,
    push: () => Promise<unknown>,
    drain: (count: number) => Promise<Rate>,
  ): Promise<Rate> {
    const count = countOf(scale)
    const pushed = await rateOf(connection, count, async () => {
      for (let from = 0; from < count; from += batch) await push()
    })
    await analyze(connection)
    const drained = await drain(count)
    return new Rate(1 / (1 / pushed.perSecond + 1 / drained.perSecond), addCosts(pushed.cost, drained.cost))
  }

  return {
    taskstream: async (connection, scale) => {
      const pool = poolOf(connection, 2)
      const tasks = await prepareTaskstream(pool)
      const transactions = pgTransactions(pool)
      const creations = Array.from({ length: batch }, (_, index) => ({ identifier: `customer ${index}`, input }))
      const figure = await rate(
        connection,
        scale,
        () => transactions((transaction) => tasks.push(transaction, topic, creations)),
        (count) => race([{ subject: 'taskstream', connection, ...order }], count),
      )
      await pool.end()
      return figure
    },
    'pg-boss': async (connection, scale) => {
      const boss = await openBoss(connection)
      const jobs = Array.from({ length: batch }, () => ({ data: payload }))
      const figure = await rate(
        connection,
        scale,
        () => boss.insert(topic, jobs),
        (count) => race([{ subject: 'pg-boss', connection, ...order }], count),
      )
      await boss.stop({ graceful: false })
      return figure
    },
    'graphile-worker': async (connection, scale) => {
      const pool = peerPool(connection, 2)
      const utils = await graphile(pool)
      const jobs = Array.from({ length: batch }, () => ({ identifier: topic, payload }))
      const figure = await rate(
        connection,
        scale,
        () => utils.addJobs(jobs),
        (count) => race([{ subject: 'graphile-worker', connection }], count),
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
        connection,
        scale,
        () => client.query('insert into plain (identifier, input) select * from unnest($1::text[], $2::text[])', values),
        (count) => drainPlain(connection, count, order.size),
      )
      await client.end()
      return figure
    },
  }
}

async function drainPlain(connection: Connection, count: number, size: number): Promise<Rate> {
  const client = await connect(connection)
  await client.query('vacuum analyze plain')
  const text = 'update plain set state = 6 where sequence > $1 and sequence <= $2 returning sequence, input'
  const rate = await rateOf(connection, count, async () => {
    for (let from = 0; from < count; from += size) await client.query({ name: 'complete', text, values: [from, from + size] })
  })
  await client.end()
  return rate
}
