/** Handlers and work are given the types of this driver: compiled, never run. */
import { TaskDecision } from '@taskstream/task-api'
import { TaskNode } from '@taskstream/task-processor'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { mariadb } from '@taskstream/task-sql/mysql2'
import {
  drizzleMysqlTransactions,
  drizzleSqliteTransactions,
  drizzleTransactions,
  fromDrizzle,
  fromDrizzleMysql,
  fromDrizzleSqlite,
  postgres,
  sqlite,
} from '@taskstream/task-sql/drizzle'
import { sql } from 'drizzle-orm'
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3'
import { mysqlTable, text as mysqlText } from 'drizzle-orm/mysql-core'
import type { MySql2Database } from 'drizzle-orm/mysql2'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { sqliteTable, text as sqliteText } from 'drizzle-orm/sqlite-core'

const invoice = pgTable('invoice', { id: text('id') })
const mysqlInvoice = mysqlTable('invoice', { id: mysqlText('id') })
const sqliteInvoice = sqliteTable('invoice', { id: sqliteText('id') })

declare const onPg: NodePgDatabase
declare const onMysql: MySql2Database
declare const onSqlite: BetterSQLite3Database
declare function store(tx: Parameters<Parameters<NodePgDatabase['transaction']>[0]>[0]): Promise<void>
declare function storeMysql(tx: Parameters<Parameters<MySql2Database['transaction']>[0]>[0]): Promise<void>
declare function storeSqlite(db: BetterSQLite3Database): void

const repository = sqlTaskRepository({ dialect: postgres(), adapter: fromDrizzle(sql) })
new TaskNode({ repository, transactions: drizzleTransactions(onPg, sql) }).process('invoices', {
  handler: async (_batch, { complete }) => {
    await complete(async (tx, held) => {
      const rows: { id: string | null }[] = await tx.select().from(invoice)
      await store(tx)
      return new Map(held.slice(rows.length).map((task) => [task, TaskDecision.success()]))
    })
  },
})

const mysqlRepository = sqlTaskRepository({ dialect: mariadb(), adapter: fromDrizzleMysql(sql) })
new TaskNode({ repository: mysqlRepository, transactions: drizzleMysqlTransactions(onMysql, sql) }).process('invoices', {
  handler: async (_batch, { complete }) => {
    await complete(async (tx, held) => {
      const rows: { id: string | null }[] = await tx.select().from(mysqlInvoice)
      await storeMysql(tx)
      return new Map(held.slice(rows.length).map((task) => [task, TaskDecision.success()]))
    })
  },
})

const sqliteRepository = sqlTaskRepository({ dialect: sqlite(), adapter: fromDrizzleSqlite(sql) })
new TaskNode({ repository: sqliteRepository, transactions: drizzleSqliteTransactions(onSqlite, sql) }).process('invoices', {
  handler: async (_batch, { complete }) => {
    await complete((db, held) => {
      const rows: { id: string | null }[] = db.select().from(sqliteInvoice).all()
      storeSqlite(db)
      return new Map(held.slice(rows.length).map((task) => [task, TaskDecision.success()]))
    })
  },
})
