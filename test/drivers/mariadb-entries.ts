/** All entries for MariaDB. */
import { PrismaMariaDb } from '@prisma/adapter-mariadb'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle as drizzleMysql } from 'drizzle-orm/mysql2'
import { MysqlDialect, sql as kyselySql } from 'kysely'
import { createPool as createCallbackPool } from 'mysql2'
import { createPool } from 'mysql2/promise'
import type { PoolConnection } from 'mysql2/promise'
import { taskstream as ofDrizzle } from 'taskstream/drizzle'
import { taskstream as ofKnex } from 'taskstream/knex'
import { taskstream as ofKysely } from 'taskstream/kysely'
import { taskstream as ofMysql2 } from 'taskstream/mysql2'
import { taskstream as ofPrisma } from 'taskstream/prisma'
import { taskstream as ofTypeorm } from 'taskstream/typeorm'
import { openPrismaClient } from './prisma.ts'
import { insertion, kyselyEntry, knexEntry, prismaEntry, typeormEntry } from './entry.ts'
import type { Entry } from './entry.ts'

export const mariadbEntries: readonly Entry[] = [
  {
    name: 'mysql2',
    open: (uri) => {
      const pool = createPool({ uri, connectionLimit: 4 })
      return {
        streamOf: (options) => ofMysql2(pool, { database: 'mariadb', ...options }),
        insert: (connection: PoolConnection, id) => connection.execute(insertion(id)),
        close: () => pool.end(),
      }
    },
  },
  {
    name: 'Kysely',
    open: (uri) =>
      kyselyEntry(new MysqlDialect({ pool: createCallbackPool({ uri }) }), (db, options) =>
        ofKysely(db, { database: 'mariadb', sql: kyselySql, connections: 10, ...options }),
      ),
  },
  {
    name: 'Drizzle',
    open: (uri) => {
      const pool = createPool({ uri })
      const db = drizzleMysql(pool)
      // The URL's own database, by name.
      const named = new URL(uri).pathname.slice(1)
      return {
        streamOf: (options) => ofDrizzle(db, { database: 'mariadb', sql: drizzleSql, schema: named, ...options }),
        insert: (tx: typeof db, id) => tx.execute(drizzleSql.raw(insertion(id))),
        close: () => pool.end(),
      }
    },
  },
  {
    name: 'Knex',
    open: (url) =>
      knexEntry({ client: 'mysql2', connection: url }, (db, options) => ofKnex(db, { database: 'mariadb', ...options })),
  },
  {
    name: 'TypeORM',
    open: (url) =>
      typeormEntry({ type: 'mariadb', url }, (source, options) => ofTypeorm(source, { database: 'mariadb', ...options })),
  },
  {
    name: 'Prisma',
    open: (url) =>
      prismaEntry(openPrismaClient('mysql', new PrismaMariaDb(url)), (prisma, options) =>
        ofPrisma(prisma, { database: 'mariadb', connections: 10, ...options }),
      ),
  },
]
