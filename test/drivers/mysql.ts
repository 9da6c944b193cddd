/** All drivers and libraries for MariaDB and MySQL. */
import { PrismaMariaDb } from '@prisma/adapter-mariadb'
import { drizzleMysqlTransactions, fromDrizzleMysql } from '@taskstream/task-sql/drizzle'
import { fromKnexMysql, knexMysqlTransactions } from '@taskstream/task-sql/knex'
import { fromKyselyMysql, kyselyMysqlTransactions } from '@taskstream/task-sql/kysely'
import { fromMysql2, mariadb, mysql, mysql2Transactions } from '@taskstream/task-sql/mysql2'
import { fromTypeormMysql, typeormMysqlTransactions } from '@taskstream/task-sql/typeorm'
import { fromPrismaMysql, prismaMysqlTransactions } from '@taskstream/task-sql/prisma'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/mysql2'
import { mysqlTable, text } from 'drizzle-orm/mysql-core'
import knex from 'knex'
import type { Knex } from 'knex'
import { CamelCasePlugin, Kysely, MysqlDialect, sql as kyselySql } from 'kysely'
import { createPool as createCallbackPool } from 'mysql2'
import { createPool } from 'mysql2/promise'
import type { PoolConnection, PoolOptions } from 'mysql2/promise'
import { DataSource } from 'typeorm'
import type { EntityManager } from 'typeorm'
import { subjectName } from '../subject.ts'
import { ordinaryPool, takeAsync } from './driver.ts'
import type { Driver, OpenDriver, PoolSettings } from './driver.ts'
import { camelCaseRows } from './knex-camel-case.ts'
import { openPrismaClient, prismaInvoices } from './prisma.ts'
import type { PrismaInvoiceTransaction } from './prisma.ts'
import { invoiceEntity, invoiceIds } from './typeorm-invoice.ts'

const dialect = subjectName === 'mysql' ? mysql() : mariadb()
const invoice = mysqlTable('invoice', { id: text('id') })

/** mysql2 waits for a connection without a limit, or not at all. */
const poolOptions = (uri: string, { max, waitMs }: PoolSettings): PoolOptions => ({
  uri,
  connectionLimit: max,
  waitForConnections: waitMs === undefined,
})

async function openMysql2(uri: string, settings: PoolSettings = ordinaryPool): Promise<OpenDriver> {
  const pool = createPool(poolOptions(uri, settings))
  return {
    dialect,
    adapter: fromMysql2,
    transactions: mysql2Transactions(pool, { retries: 0 }),
    outside: pool,
    transact: async (steps) => {
      const connection = await pool.getConnection()
      try {
        await connection.beginTransaction()
        await takeAsync(steps(connection))
        await connection.commit()
      } catch (error) {
        await connection.rollback()
        throw error
      } finally {
        connection.release()
      }
    },
    insertInvoice: (connection: PoolConnection, id) => connection.execute('insert into invoice values (?)', [id]),
    invoices: async () => ((await pool.query('select id from invoice order by id'))[0] as { id: string }[]).map(({ id }) => id),
    close: () => pool.end(),
  }
}

interface Tables {
  invoice: { id: string }
}

async function openKysely(
  uri: string,
  settings: PoolSettings = ordinaryPool,
  plugins: CamelCasePlugin[] = [],
): Promise<OpenDriver> {
  const pool = createCallbackPool(poolOptions(uri, settings))
  const db = new Kysely<Tables>({ dialect: new MysqlDialect({ pool }), plugins })
  return {
    dialect,
    adapter: fromKyselyMysql(kyselySql),
    transactions: kyselyMysqlTransactions(db, kyselySql, { connections: 4 }),
    transact: (steps) => db.transaction().execute((transaction) => takeAsync(steps(transaction))),
    insertInvoice: (transaction: typeof db, id) => transaction.insertInto('invoice').values({ id }).execute(),
    invoices: async () => (await db.selectFrom('invoice').select('id').orderBy('id').execute()).map(({ id }) => id),
    close: () => db.destroy(),
  }
}

async function openDrizzle(uri: string, settings: PoolSettings = ordinaryPool): Promise<OpenDriver> {
  const pool = createPool(poolOptions(uri, settings))
  const db = drizzle(pool)
  return {
    dialect,
    adapter: fromDrizzleMysql(drizzleSql),
    transactions: drizzleMysqlTransactions(db, drizzleSql),
    outside: db,
    transact: (steps) => db.transaction((tx) => takeAsync(steps(tx))),
    insertInvoice: (tx: typeof db, id) => tx.insert(invoice).values({ id }),
    invoices: async () => (await db.select().from(invoice).orderBy(invoice.id)).map(({ id }) => String(id)),
    close: () => pool.end(),
  }
}

async function openKnex(
  uri: string,
  { max, waitMs }: PoolSettings = ordinaryPool,
  config: Knex.Config = {},
): Promise<OpenDriver> {
  const wait = waitMs !== undefined && { acquireConnectionTimeout: waitMs }
  const db = knex({ client: 'mysql2', connection: uri, pool: { min: 0, max }, log: { warn: () => {} }, ...wait, ...config })
  return {
    dialect,
    adapter: fromKnexMysql,
    transactions: knexMysqlTransactions(db),
    outside: db,
    transact: (steps) => db.transaction((trx) => takeAsync(steps(trx))),
    insertInvoice: (trx: Knex.Transaction, id) => trx('invoice').insert({ id }),
    invoices: () => db('invoice').orderBy('id').pluck('id'),
    close: () => db.destroy(),
  }
}

async function openTypeorm(url: string, { max, waitMs }: PoolSettings = ordinaryPool): Promise<OpenDriver> {
  const type = subjectName === 'mysql' ? 'mysql' : 'mariadb'
  const dataSource = new DataSource({
    type,
    url,
    poolSize: max,
    entities: [invoiceEntity],
    extra: { waitForConnections: waitMs === undefined },
  })
  await dataSource.initialize()
  return {
    dialect,
    adapter: fromTypeormMysql,
    transactions: typeormMysqlTransactions(dataSource),
    outside: dataSource.manager,
    transact: (steps) => dataSource.transaction((manager) => takeAsync(steps(manager))),
    insertInvoice: (manager: EntityManager, id) => manager.insert(invoiceEntity, { id }),
    invoices: () => invoiceIds(dataSource),
    close: () => dataSource.destroy(),
  }
}

async function openPrisma(uri: string, { max, waitMs = 3_000 }: PoolSettings = ordinaryPool): Promise<OpenDriver> {
  // By default the pool waits longer than Prisma waits for a connection, so that Prisma's own limit is what ends the wait.
  const prisma = await openPrismaClient('mysql', new PrismaMariaDb(`${uri}?acquireTimeout=${waitMs}&connectionLimit=${max}`))
  return {
    dialect,
    adapter: fromPrismaMysql,
    transactions: prismaMysqlTransactions(prisma, { connections: 4 }),
    outside: prisma,
    transact: async (steps) => void (await prisma.$transaction((tx) => takeAsync(steps(tx)))),
    insertInvoice: (tx: PrismaInvoiceTransaction, id) => tx.invoice.create({ data: { id } }),
    invoices: () => prismaInvoices(prisma),
    close: () => prisma.$disconnect(),
  }
}

export const mysqlDrivers: readonly Driver[] = [
  { name: 'mysql2', open: openMysql2 },
  { name: 'Kysely on mysql2', open: openKysely },
  { name: 'Kysely on mysql2 with camel case', open: (uri, pool) => openKysely(uri, pool, [new CamelCasePlugin()]) },
  { name: 'Drizzle on mysql2', open: openDrizzle },
  { name: 'Knex on mysql2', tellsEnd: true, open: openKnex },
  {
    name: 'Knex on mysql2 with camel case',
    tellsEnd: true,
    open: (uri, pool) => openKnex(uri, pool, { postProcessResponse: camelCaseRows }),
  },
  { name: 'TypeORM on mysql2', tellsEnd: true, connectsFirst: true, open: openTypeorm },
  { name: 'Prisma on mariadb', tellsEnd: true, reopens: true, open: openPrisma },
]
