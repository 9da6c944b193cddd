/** Handlers and work are given the types of this driver: compiled, never run. */
import { TaskDecision } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { mariadb } from '@taskstream/task-sql/mysql2'
import {
  fromKysely,
  fromKyselyMysql,
  kyselyMysqlTransactions,
  kyselySqliteTransactions,
  kyselyTransactions,
  postgres,
  sqlite,
} from '@taskstream/task-sql/kysely'
import { sql } from 'kysely'
import type { Kysely, Transaction } from 'kysely'

interface Tables {
  invoice: { id: string }
}

declare const db: Kysely<Tables>
declare function store(trx: Transaction<Tables>): Promise<void>
declare function storeIn(connection: Kysely<Tables>): Promise<void>

const sources = [
  { transactions: kyselyTransactions(db), repository: sqlTaskRepository({ dialect: postgres(), adapter: fromKysely(sql) }) },
  {
    transactions: kyselyMysqlTransactions(db, sql),
    repository: sqlTaskRepository({ dialect: mariadb(), adapter: fromKyselyMysql(sql) }),
  },
] as const
for (const { transactions, repository } of sources) {
  await transactions(async (trx) => {
    const row = await trx.selectFrom('invoice').select('id').executeTakeFirst()
    const id: string | undefined = row?.id
    await store(trx)
    await repository.push(trx, 'invoices', id ?? '')
  })
  const node = new TaskNode({ repository, transactions })
  node.process('invoices', {
    handler: async (_batch, { complete }) => {
      await complete(async (trx, held) => {
        await trx.selectFrom('invoice').select('id').execute()
        await store(trx)
        return new Map(held.map((task) => [task, TaskDecision.success()]))
      })
    },
  })
}

const transactions = kyselySqliteTransactions(db, sql)
const repository = sqlTaskRepository({ dialect: sqlite(), adapter: fromKysely(sql) })
new TaskNode({ repository, transactions }).process('invoices', {
  handler: async (_batch, { complete }) => {
    await complete(async (connection, held) => {
      await connection.selectFrom('invoice').select('id').execute()
      await storeIn(connection)
      return new Map(held.map((task) => [task, TaskDecision.success()]))
    })
  },
})
