/** Pushes one task at a time on many connections, each push by itself, without a transaction of the caller's. */
import { pgTransactions } from '@taskstream/task-sql/pg'
import { input, topic } from './backlog-task.ts'
import { openBoss } from './boss.ts'
import { rateOf } from './cost.ts'
import type { Rate } from './cost.ts'
import { poolOf } from './database.ts'
import type { Connection } from './database.ts'
import { graphile } from './graphile.ts'
import { peerPool } from './named-client.ts'
import { concurrently, insertOne, plainTable, prepareTaskstream } from './pushes.ts'
import type { Measures, Scale } from './scenario.ts'

const payload = JSON.parse(input) as object

export function connections(count: number): Measures {
  return {
    taskstream: async (connection, scale) => {
      const pool = poolOf(connection, count)
      const tasks = await prepareTaskstream(pool)
      const { autocommit } = pgTransactions(pool)
      const rate = await all(connection, count, scale, (index) =>
        autocommit!((client) => tasks.push(client, topic, { identifier: `customer ${index}`, input })),
      )
      await pool.end()
      return rate
    },
    'pg-boss': async (connection, scale) => {
      const boss = await openBoss(connection, count)
      const rate = await all(connection, count, scale, () => boss.send(topic, payload))
      await boss.stop({ graceful: false })
      return rate
    },
    'graphile-worker': async (connection, scale) => {
      const pool = peerPool(connection, count)
      const utils = await graphile(pool)
      const rate = await all(connection, count, scale, () => utils.addJob(topic, payload))
      await utils.release()
      await pool.end()
      return rate
    },
    limit: async (connection, scale) => {
      const pool = poolOf(connection, count)
      await plainTable(pool)
      const rate = await all(connection, count, scale, (index) => insertOne(pool, index))
      await pool.end()
      return rate
    },
  }
}

async function all(
  connection: Connection,
  count: number,
  { singles }: Scale,
  push: (index: number) => Promise<unknown>,
): Promise<Rate> {
  // The first pushes open the connections, so that opening them is not measured.
  await concurrently(count, count, push)
  return rateOf(connection, singles / 2, () => concurrently(count, singles / 2, push))
}
