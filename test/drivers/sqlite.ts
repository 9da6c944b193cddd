/** All drivers and libraries for SQLite. */
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'
import type { DatabaseSync } from 'node:sqlite'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import type { BetterSqlite3Connection } from '@taskstream/task-sql/better-sqlite3'
import { drizzleSqliteTransactions, fromDrizzleSqlite } from '@taskstream/task-sql/drizzle'
import { fromKnexSqlite, knexSqliteTransactions } from '@taskstream/task-sql/knex'
import { fromKysely, kyselySqliteTransactions } from '@taskstream/task-sql/kysely'
import { fromNodeSqlite, openNodeSqlite } from '@taskstream/task-sql/node-sqlite'
import { fromTypeormSqlite, typeormSqliteTransactions } from '@taskstream/task-sql/typeorm'
import { fromPrismaSqlite, prismaSqliteTransactions } from '@taskstream/task-sql/prisma'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/better-sqlite3'
import { sqliteTable, text } from 'drizzle-orm/sqlite-core'
import knex from 'knex'
import type { Knex } from 'knex'
import { Kysely, SqliteDialect, sql as kyselySql } from 'kysely'
import type { SqliteDatabase } from 'kysely'
import { DataSource } from 'typeorm'
import type { EntityManager } from 'typeorm'
import { takeAsync, takeSync } from './driver.ts'
import type { Driver, OpenDriver } from './driver.ts'
import { camelCaseRows } from './knex-camel-case.ts'
import { openPrismaClient, prismaInvoices } from './prisma.ts'
import type { PrismaInvoiceTransaction } from './prisma.ts'
import { invoiceEntity, invoiceIds } from './typeorm-invoice.ts'

const settings = { synchronous: 'normal', busyTimeoutMs: 0 } as const
const busy = { busyTimeoutMs: 100 }
const dialect = sqlite()
const invoice = sqliteTable('invoice', { id: text('id') })

async function openBetter(file: string): Promise<OpenDriver> {
  const database = await openBetterSqlite3(file, settings)
  return {
    dialect,
    adapter: fromBetterSqlite3,
    transactions: sqliteTransactions(database, busy),
    transact: async (steps) => database.transaction(() => takeSync(steps(database)))(),
    insertInvoice: (db: BetterSqlite3Connection, id) => db.prepare('insert into invoice values (?)').run(id),
    invoices: async () => (database.prepare('select id from invoice order by id').all() as { id: string }[]).map(({ id }) => id),
    close: async () => void database.close(),
  }
}

async function openNode(file: string): Promise<OpenDriver> {
  const database = await openNodeSqlite(file, settings)
  return {
    dialect,
    adapter: fromNodeSqlite,
    transactions: sqliteTransactions(database, busy),
    transact: async (steps) => {
      database.exec('begin immediate')
      try {
        takeSync(steps(database))
        database.exec('commit')
      } catch (error) {
        database.exec('rollback')
        throw error
      }
    },
    insertInvoice: (db: DatabaseSync, id) => db.prepare('insert into invoice values (?)').run(id),
    invoices: async () =>
      database
        .prepare('select id from invoice order by id')
        .all()
        .map(({ id }) => String(id)),
    close: async () => database.close(),
  }
}

async function openKysely(file: string): Promise<OpenDriver> {
  const database = (await openBetterSqlite3(file, settings)) as unknown as SqliteDatabase
  const db = new Kysely<{ invoice: { id: string } }>({ dialect: new SqliteDialect({ database }) })
  return {
    dialect,
    adapter: fromKysely(kyselySql),
    transactions: kyselySqliteTransactions(db, kyselySql, busy),
    transact: (steps) => db.transaction().execute((transaction) => takeAsync(steps(transaction))),
    insertInvoice: (transaction: typeof db, id) => transaction.insertInto('invoice').values({ id }).execute(),
    invoices: async () => (await db.selectFrom('invoice').select('id').orderBy('id').execute()).map(({ id }) => id),
    close: () => db.destroy(),
  }
}

async function openDrizzle(file: string): Promise<OpenDriver> {
  const database = await openBetterSqlite3(file, settings)
  const db = drizzle({ client: database as never })
  return {
    dialect,
    adapter: fromDrizzleSqlite(drizzleSql),
    transactions: drizzleSqliteTransactions(db, drizzleSql, busy),
    transact: async (steps) => db.transaction((tx) => takeSync(steps(tx)), { behavior: 'immediate' }),
    insertInvoice: (tx: typeof db, id) => tx.insert(invoice).values({ id }).run(),
    invoices: async () =>
      db
        .select()
        .from(invoice)
        .orderBy(invoice.id)
        .all()
        .map(({ id }) => String(id)),
    close: async () => void database.close(),
  }
}

async function openKnex(filename: string, config: Knex.Config = {}): Promise<OpenDriver> {
  const afterCreate = (connection: BetterSqlite3Connection, done: () => void): void => {
    connection.exec('pragma busy_timeout = 0')
    done()
  }
  const db = knex({
    client: 'better-sqlite3',
    connection: { filename },
    pool: { afterCreate },
    useNullAsDefault: true,
    ...config,
  })
  return {
    dialect,
    adapter: fromKnexSqlite,
    transactions: knexSqliteTransactions(db, busy),
    outside: db,
    transact: (steps) => db.transaction((trx) => takeAsync(steps(trx))),
    insertInvoice: (trx: Knex.Transaction, id) => trx('invoice').insert({ id }),
    invoices: () => db('invoice').orderBy('id').pluck('id'),
    close: () => db.destroy(),
  }
}

async function openTypeorm(file: string): Promise<OpenDriver> {
  const dataSource = new DataSource({ type: 'better-sqlite3', database: file, timeout: 0, entities: [invoiceEntity] })
  await dataSource.initialize()
  return {
    dialect,
    adapter: fromTypeormSqlite,
    transactions: typeormSqliteTransactions(dataSource, busy),
    outside: dataSource.manager,
    transact: (steps) => dataSource.transaction((manager) => takeAsync(steps(manager))),
    insertInvoice: (manager: EntityManager, id) => manager.insert(invoiceEntity, { id }),
    invoices: () => invoiceIds(dataSource),
    close: () => dataSource.destroy(),
  }
}

async function openPrisma(file: string): Promise<OpenDriver> {
  const prisma = await openPrismaClient('sqlite', new PrismaBetterSqlite3({ url: file, timeout: 0 }))
  return {
    dialect,
    adapter: fromPrismaSqlite,
    transactions: prismaSqliteTransactions(prisma, busy),
    outside: prisma,
    transact: async (steps) => void (await prisma.$transaction((tx) => takeAsync(steps(tx)))),
    insertInvoice: (tx: PrismaInvoiceTransaction, id) => tx.invoice.create({ data: { id } }),
    invoices: () => prismaInvoices(prisma),
    close: () => prisma.$disconnect(),
  }
}

export const sqliteDrivers: readonly Driver[] = [
  { name: 'better-sqlite3', open: openBetter },
  { name: 'Kysely on better-sqlite3', open: openKysely },
  { name: 'Drizzle on better-sqlite3', open: openDrizzle },
  { name: 'Knex on better-sqlite3', tellsEnd: true, open: (file) => openKnex(file) },
  {
    name: 'Knex on better-sqlite3 with camel case',
    tellsEnd: true,
    open: (file) => openKnex(file, { postProcessResponse: camelCaseRows }),
  },
  { name: 'TypeORM on better-sqlite3', tellsEnd: true, connectsFirst: true, open: openTypeorm },
  { name: 'Prisma on better-sqlite3', tellsEnd: true, reopens: true, open: openPrisma },
]

export const nodeSqliteDrivers: readonly Driver[] = [{ name: 'node:sqlite', open: openNode }]
