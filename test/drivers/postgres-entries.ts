/** All entries for PostgreSQL. */
import { PrismaPg } from '@prisma/adapter-pg'
import type { Transaction as PgliteTransaction } from '@electric-sql/pglite'
import { fromPglite, pgliteTransactions } from '@taskstream/task-sql/pglite'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle as drizzlePg } from 'drizzle-orm/node-postgres'
import { drizzle as drizzlePostgresJs } from 'drizzle-orm/postgres-js'
import { PostgresDialect, sql as kyselySql } from 'kysely'
import pg from 'pg'
import postgresJs from 'postgres'
import { taskstream as ofDrizzle } from 'taskstream/drizzle'
import { taskstream as ofKnex } from 'taskstream/knex'
import { taskstream as ofKysely } from 'taskstream/kysely'
import { taskstream as ofPg } from 'taskstream/pg'
import { taskstream as ofPglite } from 'taskstream/pglite'
import { taskstream as ofPostgresJs } from 'taskstream/postgres-js'
import { taskstream as ofPrisma } from 'taskstream/prisma'
import { taskstream as ofTypeorm } from 'taskstream/typeorm'
import { openPgliteDatabase } from '../engines/pglite.ts'
import { openPrismaClient } from './prisma.ts'
import { insertion, kyselyEntry, knexEntry, prismaEntry, typeormEntry } from './entry.ts'
import type { Entry } from './entry.ts'

/** The schema of the entries' tables. */
export const schema = 'entries'

export function openPool(url: string, config: pg.PoolConfig = {}): pg.Pool {
  return new pg.Pool({ connectionString: url, max: 4, ...config })
}

/** Kysely keeps its pool for itself, and does not listen for the loss of a connection. */
function openHeardPool(url: string): pg.Pool {
  const pool = openPool(url)
  pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}))
  return pool
}

export const postgresEntries: readonly Entry[] = [
  {
    name: 'pg',
    tells: true,
    open: (url) => {
      const pool = openPool(url)
      return {
        streamOf: (options) => ofPg(pool, { schema, ...options }),
        insert: (client: pg.PoolClient, id) => client.query(insertion(id)),
        close: () => pool.end(),
      }
    },
  },
  {
    name: 'postgres.js',
    open: (url) => {
      const sql = postgresJs(url, { max: 4, onnotice: () => {} })
      return {
        streamOf: (options) => ofPostgresJs(sql, { schema, ...options }),
        insert: (transaction: postgresJs.TransactionSql, id) => transaction`insert into invoice ${transaction({ id })}`,
        close: () => sql.end(),
      }
    },
  },
  {
    name: 'PGlite',
    open: async () => {
      const database = await openPgliteDatabase()
      return {
        streamOf: (options) => ofPglite(database, options),
        insert: (transaction: PgliteTransaction, id) => transaction.query(insertion(id)),
        observer: {
          adapter: fromPglite,
          transactions: pgliteTransactions(database),
          invoices: async () =>
            (await database.query<{ id: string }>('select id from invoice order by id')).rows.map(({ id }) => id),
        },
        close: () => database.close(),
      }
    },
  },
  {
    name: 'Kysely',
    open: (url) =>
      kyselyEntry(new PostgresDialect({ pool: openHeardPool(url) }), (db, options) =>
        ofKysely(db, { database: 'postgres', sql: kyselySql, schema, connections: 10, ...options }),
      ),
  },
  {
    name: 'Drizzle on node-postgres',
    open: (url) => {
      const pool = openPool(url)
      const db = drizzlePg(pool)
      return {
        streamOf: (options) => ofDrizzle(db, { database: 'postgres', sql: drizzleSql, schema, ...options }),
        insert: (tx: typeof db, id) => tx.execute(drizzleSql.raw(insertion(id))),
        close: () => pool.end(),
      }
    },
  },
  {
    name: 'Drizzle on postgres.js',
    open: (url) => {
      const sql = postgresJs(url, { max: 4, onnotice: () => {} })
      const db = drizzlePostgresJs(sql)
      return {
        streamOf: (options) => ofDrizzle(db, { database: 'postgres', sql: drizzleSql, schema, ...options }),
        insert: (tx: typeof db, id) => tx.execute(drizzleSql.raw(insertion(id))),
        close: () => sql.end(),
      }
    },
  },
  {
    name: 'Knex',
    open: (url) =>
      knexEntry({ client: 'pg', connection: url }, (db, options) => ofKnex(db, { database: 'postgres', schema, ...options })),
  },
  {
    name: 'TypeORM',
    open: (url) =>
      typeormEntry({ type: 'postgres', url }, (source, options) =>
        ofTypeorm(source, { database: 'postgres', schema, ...options }),
      ),
  },
  {
    name: 'Prisma',
    open: (connectionString) =>
      prismaEntry(openPrismaClient('postgresql', new PrismaPg({ connectionString })), (prisma, options) =>
        ofPrisma(prisma, { database: 'postgres', schema, connections: 10, ...options }),
      ),
  },
]
