/** All drivers and libraries for PostgreSQL. */
import { PrismaPg } from '@prisma/adapter-pg'
import { fromDrizzle, drizzleTransactions } from '@taskstream/task-sql/drizzle'
import { fromKnex, knexTransactions } from '@taskstream/task-sql/knex'
import { fromKysely, kyselyTransactions } from '@taskstream/task-sql/kysely'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import { fromPostgresJs, postgresJsTransactions } from '@taskstream/task-sql/postgres-js'
import { fromTypeorm, typeormTransactions } from '@taskstream/task-sql/typeorm'
import { fromPrisma, prismaTransactions } from '@taskstream/task-sql/prisma'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import knex from 'knex'
import type { Knex } from 'knex'
import { CamelCasePlugin, Kysely, PostgresDialect, sql as kyselySql } from 'kysely'
import pg from 'pg'
import postgresJs from 'postgres'
import { DataSource } from 'typeorm'
import type { EntityManager, QueryRunner } from 'typeorm'
import { ordinaryPool, takeAsync } from './driver.ts'
import type { Driver, OpenDriver, PoolSettings, Steps } from './driver.ts'
import { camelCaseRows } from './knex-camel-case.ts'
import { openPrismaClient, prismaInvoices } from './prisma.ts'
import type { PrismaInvoiceTransaction } from './prisma.ts'
import { invoiceEntity, invoiceIds } from './typeorm-invoice.ts'

/** These tests migrate a schema that did not exist before. */
const dialect = postgres({ schema: 'drivers' })
const invoice = pgTable('invoice', { id: text('id') })

function openPool(url: string, { max, waitMs }: PoolSettings = ordinaryPool, config: pg.PoolConfig = {}): pg.Pool {
  const wait = waitMs !== undefined && { connectionTimeoutMillis: waitMs }
  return new pg.Pool({ connectionString: url, max, ...wait, ...config })
}

async function openPg(url: string, settings?: PoolSettings, config?: pg.PoolConfig): Promise<OpenDriver> {
  const pool = openPool(url, settings, config)
  return {
    dialect,
    adapter: fromPg,
    transactions: pgTransactions(pool, { retries: 0 }),
    outside: pool,
    transact: async (steps) => {
      const client = await pool.connect()
      try {
        await client.query('begin')
        await takeAsync(steps(client))
        await client.query('commit')
      } catch (error) {
        await client.query('rollback')
        throw error
      } finally {
        client.release()
      }
    },
    insertInvoice: (client: pg.PoolClient, id) => client.query('insert into invoice values ($1)', [id]),
    invoices: async () => (await pool.query('select id from invoice order by id')).rows.map(({ id }) => id),
    close: () => pool.end(),
  }
}

async function openPostgresJs(url: string, options: postgresJs.Options<{}> = {}): Promise<OpenDriver> {
  const sql = postgresJs(url, { max: 4, onnotice: () => {}, ...options })
  return {
    dialect,
    adapter: fromPostgresJs,
    transactions: postgresJsTransactions(sql),
    outside: sql,
    transact: async (steps) => void (await sql.begin((transaction) => takeAsync(steps(transaction)))),
    insertInvoice: (transaction: postgresJs.TransactionSql, id) => transaction`insert into invoice ${transaction({ id })}`,
    invoices: async () => (await sql`select id from invoice order by id`).map((row) => String(Object.values(row)[0])),
    close: () => sql.end(),
  }
}

/** Many applications have pg read int8 as numbers, which are rounded beyond 2^53. */
const int8AsNumber: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

interface Tables {
  invoice: { id: string }
}

async function openKysely(url: string, settings?: PoolSettings, plugins: CamelCasePlugin[] = []): Promise<OpenDriver> {
  const pool = openPool(url, settings)
  // Kysely keeps its pool for itself, and does not listen for the loss of a connection.
  pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}))
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }), plugins })
  return {
    dialect,
    adapter: fromKysely(kyselySql),
    transactions: kyselyTransactions(db, { connections: 4 }),
    transact: (steps) => db.transaction().execute((transaction) => takeAsync(steps(transaction))),
    insertInvoice: (transaction: typeof db, id) => transaction.insertInto('invoice').values({ id }).execute(),
    invoices: async () => (await db.selectFrom('invoice').select('id').orderBy('id').execute()).map(({ id }) => id),
    close: () => db.destroy(),
  }
}

async function openDrizzle<Result extends PgQueryResultHKT>(
  db: PgDatabase<Result>,
  close: () => Promise<void>,
): Promise<OpenDriver> {
  return {
    dialect,
    adapter: fromDrizzle(drizzleSql),
    transactions: drizzleTransactions(db, drizzleSql),
    outside: db,
    transact: (steps) => db.transaction((tx) => takeAsync(steps(tx))),
    insertInvoice: (tx: typeof db, id) => tx.insert(invoice).values({ id }),
    invoices: async () => (await db.select().from(invoice).orderBy(invoice.id)).map(({ id }) => String(id)),
    close,
  }
}

async function openKnex(
  url: string,
  { max, waitMs }: PoolSettings = ordinaryPool,
  config: Knex.Config = {},
): Promise<OpenDriver> {
  const wait = waitMs !== undefined && { acquireConnectionTimeout: waitMs }
  const db = knex({ client: 'pg', connection: url, pool: { min: 0, max }, log: { warn: () => {} }, ...wait, ...config })
  return {
    dialect,
    adapter: fromKnex,
    transactions: knexTransactions(db),
    outside: db,
    transact: (steps) => db.transaction((trx) => takeAsync(steps(trx))),
    insertInvoice: (trx: Knex.Transaction, id) => trx('invoice').insert({ id }),
    invoices: () => db('invoice').orderBy('id').pluck('id'),
    close: () => db.destroy(),
  }
}

type TakeIn = (dataSource: DataSource, steps: Steps) => Promise<void>

const inTransaction: TakeIn = (dataSource, steps) => dataSource.transaction((manager) => takeAsync(steps(manager)))

const inQueryRunner: TakeIn = async (dataSource, steps) => {
  const runner = dataSource.createQueryRunner()
  await runner.startTransaction()
  try {
    await takeAsync(steps(runner))
    await runner.commitTransaction()
  } catch (error) {
    await runner.rollbackTransaction()
    throw error
  } finally {
    await runner.release()
  }
}

async function openTypeorm(url: string, takeIn: TakeIn, { max, waitMs }: PoolSettings = ordinaryPool): Promise<OpenDriver> {
  const dataSource = new DataSource({
    type: 'postgres',
    url,
    poolSize: max,
    entities: [invoiceEntity],
    ...(waitMs !== undefined && { connectTimeoutMS: waitMs }),
  })
  await dataSource.initialize()
  return {
    dialect,
    adapter: fromTypeorm,
    transactions: typeormTransactions(dataSource),
    outside: dataSource.manager,
    transact: (steps) => takeIn(dataSource, steps),
    insertInvoice: (transaction: EntityManager | QueryRunner, id) =>
      ('manager' in transaction ? transaction.manager : transaction).insert(invoiceEntity, { id }),
    invoices: () => invoiceIds(dataSource),
    close: () => dataSource.destroy(),
  }
}

async function openPrisma(connectionString: string, { max }: PoolSettings = ordinaryPool): Promise<OpenDriver> {
  const prisma = await openPrismaClient('postgresql', new PrismaPg({ connectionString, max }))
  return {
    dialect,
    adapter: fromPrisma,
    transactions: prismaTransactions(prisma, { connections: 4 }),
    outside: prisma,
    transact: async (steps) => void (await prisma.$transaction((tx) => takeAsync(steps(tx)))),
    insertInvoice: (tx: PrismaInvoiceTransaction, id) => tx.invoice.create({ data: { id } }),
    invoices: () => prismaInvoices(prisma),
    close: () => prisma.$disconnect(),
  }
}

export const postgresDrivers: readonly Driver[] = [
  { name: 'pg', open: openPg },
  { name: 'pg with int8 as numbers', open: (url, pool) => openPg(url, pool, { types: int8AsNumber }) },
  { name: 'pg with a pipeline', sendsAtOnce: true, open: (url, pool) => openPg(url, pool, { pipeline: true }) },
  { name: 'postgres.js', waits: true, sendsAtOnce: true, open: (url) => openPostgresJs(url) },
  { name: 'postgres.js with camel case', waits: true, open: (url) => openPostgresJs(url, { transform: postgresJs.camel }) },
  { name: 'postgres.js with Pascal case', waits: true, open: (url) => openPostgresJs(url, { transform: postgresJs.pascal }) },
  { name: 'postgres.js with kebab case', waits: true, open: (url) => openPostgresJs(url, { transform: postgresJs.kebab }) },
  { name: 'Kysely', open: openKysely },
  { name: 'Kysely with camel case', open: (url, pool) => openKysely(url, pool, [new CamelCasePlugin()]) },
  {
    name: 'Drizzle on node-postgres',
    open: (url, settings) => {
      const pool = openPool(url, settings)
      return openDrizzle(drizzle(pool), () => pool.end())
    },
  },
  {
    name: 'Drizzle on postgres.js',
    waits: true,
    open: (url) => {
      const sql = postgresJs(url, { max: 4, onnotice: () => {} })
      return openDrizzle(drizzlePostgresJs(sql), () => sql.end())
    },
  },
  { name: 'Knex', tellsEnd: true, open: openKnex },
  {
    name: 'Knex with camel case',
    tellsEnd: true,
    open: (url, pool) => openKnex(url, pool, { postProcessResponse: camelCaseRows }),
  },
  { name: 'TypeORM', tellsEnd: true, connectsFirst: true, open: (url, pool) => openTypeorm(url, inTransaction, pool) },
  {
    name: "TypeORM's query runner",
    tellsEnd: true,
    connectsFirst: true,
    open: (url, pool) => openTypeorm(url, inQueryRunner, pool),
  },
  { name: 'Prisma', tellsEnd: true, reopens: true, open: openPrisma },
]
