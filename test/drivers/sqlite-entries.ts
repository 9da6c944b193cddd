/** All entries for SQLite. */
import { PrismaBetterSqlite3 } from '@prisma/adapter-better-sqlite3'
import { createClient } from '@libsql/client'
import type { Transaction as LibsqlTransaction } from '@libsql/client'
import { DatabaseSync } from 'node:sqlite'
import Database from 'better-sqlite3'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle as drizzleSqlite } from 'drizzle-orm/better-sqlite3'
import { SqliteDialect, sql as kyselySql } from 'kysely'
import { taskstream as ofBetterSqlite3 } from 'taskstream/better-sqlite3'
import { taskstream as ofDrizzle } from 'taskstream/drizzle'
import { taskstream as ofKnex } from 'taskstream/knex'
import { taskstream as ofKysely } from 'taskstream/kysely'
import { taskstream as ofLibsql } from 'taskstream/libsql'
import { taskstream as ofNodeSqlite } from 'taskstream/node-sqlite'
import { taskstream as ofPrisma } from 'taskstream/prisma'
import { taskstream as ofTypeorm } from 'taskstream/typeorm'
import { openPrismaClient } from './prisma.ts'
import { insertion, kyselyEntry, knexEntry, prismaEntry, typeormEntry } from './entry.ts'
import type { Entry } from './entry.ts'

/** Another connection of this process must not wait for the file while it keeps the event loop from going on. */
function openFile(file: string): Database.Database {
  return new Database(file, { timeout: 0 })
}

export const sqliteEntries: readonly Entry[] = [
  {
    name: 'better-sqlite3',
    tells: true,
    open: (file) => {
      const database = new Database(file)
      return {
        streamOf: (options) => ofBetterSqlite3(database, options),
        insert: (db: typeof database, id) => db.prepare('insert into invoice values (?)').run(id),
        close: () => database.close(),
      }
    },
  },
  {
    name: 'node:sqlite',
    tells: true,
    open: (file) => {
      const database = new DatabaseSync(file)
      return {
        streamOf: (options) => ofNodeSqlite(database, options),
        insert: (db: DatabaseSync, id) => db.prepare('insert into invoice values (?)').run(id),
        close: () => database.close(),
      }
    },
  },
  {
    name: 'libSQL',
    open: (file) => {
      const client = createClient({ url: `file:${file}` })
      return {
        streamOf: (options) => ofLibsql(client, options),
        insert: (tx: LibsqlTransaction, id) => tx.execute(insertion(id)),
        close: () => client.close(),
      }
    },
  },
  {
    name: 'Kysely',
    open: (file) =>
      kyselyEntry(new SqliteDialect({ database: openFile(file) }), (db, options) =>
        ofKysely(db, { database: 'sqlite', sql: kyselySql, ...options }),
      ),
  },
  {
    name: 'Drizzle',
    open: (file) => {
      const database = openFile(file)
      const db = drizzleSqlite({ client: database })
      return {
        streamOf: (options) => ofDrizzle(db, { database: 'sqlite', sql: drizzleSql, ...options }),
        insert: (tx: typeof db, id) => tx.run(drizzleSql.raw(insertion(id))),
        close: () => database.close(),
      }
    },
  },
  {
    name: 'Knex',
    open: (filename) => {
      const afterCreate = (connection: Database.Database, done: () => void): void => {
        connection.pragma('busy_timeout = 0')
        done()
      }
      const config = { client: 'better-sqlite3', connection: { filename }, useNullAsDefault: true, pool: { afterCreate } }
      return knexEntry(config, (db, options) => ofKnex(db, { database: 'sqlite', ...options }))
    },
  },
  {
    name: 'TypeORM',
    open: (database) =>
      typeormEntry({ type: 'better-sqlite3', database, timeout: 0 }, (source, options) =>
        ofTypeorm(source, { database: 'sqlite', ...options }),
      ),
  },
  {
    name: 'Prisma',
    open: (url) =>
      prismaEntry(openPrismaClient('sqlite', new PrismaBetterSqlite3({ url, timeout: 0 })), (prisma, options) =>
        ofPrisma(prisma, { database: 'sqlite', ...options }),
      ),
  },
]
