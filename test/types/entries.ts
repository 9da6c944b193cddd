/** Streams over libraries have the libraries' own transactions: compiled, never run. Prisma's types are generated, see prisma-types.test.ts. */
import { sql as drizzleSql } from 'drizzle-orm'
import type { BetterSQLite3Database } from 'drizzle-orm/better-sqlite3'
import { mysqlTable, text as mysqlText } from 'drizzle-orm/mysql-core'
import type { MySql2Database } from 'drizzle-orm/mysql2'
import type { NodePgDatabase } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import type { PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import { sqliteTable, text as sqliteText } from 'drizzle-orm/sqlite-core'
import type { Knex } from 'knex'
import { sql } from 'kysely'
import type { Kysely, Transaction } from 'kysely'
import { defineJob, json } from 'taskstream'
import type { JobRef, Stream } from 'taskstream'
import { taskstream as ofDrizzle } from 'taskstream/drizzle'
import { taskstream as ofKnex } from 'taskstream/knex'
import type { LibraryDatabase } from 'taskstream/knex'
import { taskstream as ofKysely } from 'taskstream/kysely'
import { taskstream as ofTypeorm } from 'taskstream/typeorm'
import type { DataSource, EntityManager, EntitySchema } from 'typeorm'

interface Tables {
  invoice: { id: string }
}
type TransactionOf<Database extends { transaction(work: never, ...rest: never[]): unknown }> = Parameters<
  Database['transaction']
>[0] extends (transaction: infer Given) => unknown
  ? Given
  : never
/** Accepts a stream whose transactions are of exactly this type. */
declare function exactly<Expected>(): <Given, E extends 'sync' | 'async'>(
  stream: Stream<Given, E> & ((<T>() => T extends Given ? 1 : 2) extends <T>() => T extends Expected ? 1 : 2 ? unknown : never),
) => void

const email = defineJob('email', { input: json<{ to: string }>() })
const input = { to: 'a@example.org' }
declare const anywhere: LibraryDatabase

// Kysely: a transaction on a server, and a Kysely on the connection on SQLite.
declare const kysely: Kysely<Tables>
for (const database of ['postgres', 'mariadb', 'mysql'] as const) {
  const stream = ofKysely(kysely, { database, sql, connections: 10, schema: 'jobs' })
  exactly<Transaction<Tables>>()(stream)
  stream.handle(email, ({ commit }) =>
    commit(async (trx) => {
      const row = await trx.selectFrom('invoice').select('id').executeTakeFirst()
      const id: string | undefined = row?.id
      // @ts-expect-error There is no such table.
      await trx.selectFrom('invoices').select('id').execute()
      await stream.push(trx, email, { to: id ?? '' })
    }),
  )
  const ref: JobRef<'email'> = await stream.transaction((trx: Transaction<Tables>) => stream.push(trx, email, input))
  void ref
}
const onConnection = ofKysely(kysely, { database: 'sqlite', sql })
exactly<Kysely<Tables>>()(onConnection)
await onConnection.transaction(async (connection) => {
  await connection.insertInto('invoice').values({ id: 'a' }).execute()
  await onConnection.push(connection, email, input)
})
// @ts-expect-error Kysely's tag is needed.
ofKysely(kysely, { database: 'postgres' })
// @ts-expect-error There is no such database.
ofKysely(kysely, { database: 'oracle', sql })

// Drizzle: its tx on a server, and the database itself on SQLite, where verbs return values.
declare const onPg: NodePgDatabase
declare const onPostgresJs: PostgresJsDatabase
declare const onMysql: MySql2Database
declare const onSqlite: BetterSQLite3Database
const pgInvoice = pgTable('invoice', { id: text('id') })
const mysqlInvoice = mysqlTable('invoice', { id: mysqlText('id') })
const sqliteInvoice = sqliteTable('invoice', { id: sqliteText('id') })

const drizzlePg = ofDrizzle(onPg, { database: 'postgres', sql: drizzleSql })
exactly<TransactionOf<NodePgDatabase>>()(drizzlePg)
exactly<TransactionOf<PostgresJsDatabase>>()(ofDrizzle(onPostgresJs, { database: 'postgres', sql: drizzleSql }))
drizzlePg.handle(email, ({ commit }) => commit(async (tx) => tx.insert(pgInvoice).values({ id: 'a' })))
await drizzlePg.transaction((tx) => drizzlePg.push(tx, email, input))

const drizzleMysql = ofDrizzle(onMysql, { database: 'mariadb', sql: drizzleSql })
exactly<TransactionOf<MySql2Database>>()(drizzleMysql)
drizzleMysql.handle(email, ({ commit }) => commit(async (tx) => tx.insert(mysqlInvoice).values({ id: 'a' })))

const drizzleSqlite = ofDrizzle(onSqlite, { database: 'sqlite', sql: drizzleSql })
exactly<BetterSQLite3Database>()(drizzleSqlite)
drizzleSqlite.handle(email, ({ commit }) => commit((db) => db.insert(sqliteInvoice).values({ id: 'a' }).run()))
const atOnce: JobRef<'email'> = await drizzleSqlite.transaction((db) => {
  const pushed: JobRef<'email'> = drizzleSqlite.push(db, email, input)
  return pushed
})
void atOnce
// @ts-expect-error Drizzle on PostgreSQL has no synchronous verbs.
ofDrizzle(onPg, { database: 'sqlite', sql: drizzleSql })
// @ts-expect-error This is Kysely's tag.
ofDrizzle(onPg, { database: 'postgres', sql })

// Knex and TypeORM: the same transactions on every database.
declare const knex: Knex
const knexStream = ofKnex(knex, { database: anywhere })
exactly<Knex.Transaction>()(knexStream)
knexStream.handle(email, ({ commit }) => commit(async (trx) => trx('invoice').insert({ id: 'a' })))
await knexStream.transaction((trx) => knexStream.push(trx, email, input))

declare const dataSource: DataSource
declare const Invoice: EntitySchema<{ id: string }>
const typeormStream = ofTypeorm(dataSource, { database: anywhere })
exactly<EntityManager>()(typeormStream)
typeormStream.handle(email, ({ commit }) => commit(async (manager) => manager.insert(Invoice, { id: 'a' })))
await typeormStream.transaction((manager) => typeormStream.push(manager, email, input))
// @ts-expect-error The database must be named.
ofTypeorm(dataSource, {})
