/** Handlers and work are given the types of this driver: compiled, never run. */
import { TaskDecision } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import {
  fromKnex,
  fromKnexMysql,
  fromKnexSqlite,
  knexMysqlTransactions,
  knexSqliteTransactions,
  knexTransactions,
  postgres,
  sqlite,
} from '@taskstream/task-sql/knex'
import { mariadb } from '@taskstream/task-sql/mysql2'
import type { Knex } from 'knex'

declare const db: Knex
declare function store(trx: Knex.Transaction): Promise<void>

for (const { transactions, repository } of [
  { transactions: knexTransactions(db), repository: sqlTaskRepository({ dialect: postgres(), adapter: fromKnex }) },
  { transactions: knexMysqlTransactions(db), repository: sqlTaskRepository({ dialect: mariadb(), adapter: fromKnexMysql }) },
  { transactions: knexSqliteTransactions(db), repository: sqlTaskRepository({ dialect: sqlite(), adapter: fromKnexSqlite }) },
])
  new TaskNode({ repository, transactions }).process('invoices', {
    handler: async (_batch, { complete }) => {
      await complete(async (trx, held) => {
        const rows: { id: string }[] = await trx<{ id: string }>('invoice').select('id')
        await store(trx)
        return new Map(held.slice(rows.length).map((task) => [task, TaskDecision.success()]))
      })
    },
  })
