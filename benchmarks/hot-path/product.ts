/** taskstream itself, as its users have it: pushes through the repository, drains through a TaskNode in leased mode. */
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import type { PgClient } from '@taskstream/task-sql/pg'
import type { Connection } from './database.ts'
import { connect, topic, withDatabase } from './database.ts'
import { input } from './drain.ts'
import type { Throughput } from './drain.ts'
import { poolOf } from './peers.ts'
import { race } from './workers.ts'

export function repository(): SqlTaskRepository<PgClient> {
  return sqlTaskRepository({ dialect: postgres(), adapter: fromPg })
}

export async function measureProduct(server: Connection, tasks: number): Promise<Throughput> {
  const rates = { push: 0, drain1: 0, drain2: 0, hot: 0 }
  for (const processes of [1, 2] as const) {
    await withDatabase(server, async (connection) => {
      rates.push = Math.max(rates.push, await push(connection, tasks))
      const orders = Array.from({ length: processes }, () => ({ connection, size: 1000 }))
      rates[`drain${processes}`] = await race('product-worker.ts', orders, tasks)
      const client = await connect(connection)
      const { rows } = await client.query(
        `select n_tup_hot_upd::float8 / n_tup_upd as hot from pg_stat_user_tables where relname = 'task'`,
      )
      rates.hot = Number(rows[0]?.hot)
      await client.end()
    })
  }
  return rates
}

async function push(connection: Connection, count: number): Promise<number> {
  const pool = poolOf(connection, 2)
  const transactions = pgTransactions(pool)
  const tasks = repository()
  await tasks.migrate(transactions)
  await transactions((transaction) => tasks.initialize(transaction, topic))
  const started = performance.now()
  for (let from = 0; from < count; from += 1000) {
    const creations = Array.from({ length: 1000 }, (_, index) => ({ identifier: `customer ${from + index}`, input }))
    await transactions((transaction) => tasks.push(transaction, topic, creations))
  }
  const rate = (count / (performance.now() - started)) * 1000
  await pool.end()
  return rate
}
