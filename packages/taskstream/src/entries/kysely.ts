import {
  fromKysely,
  fromKyselyMysql,
  kyselyMysqlTransactions,
  kyselySqliteTransactions,
  kyselyTransactions,
} from '@taskstream/task-sql/kysely'
import type { KyselyConnections, KyselyDatabase, KyselySql, KyselyTransaction } from '@taskstream/task-sql/kysely'
import { checkHas } from '../check-has.ts'
import { checkedOptions } from '../given.ts'
import { checkTag, libraryStream } from '../library-stream.ts'
import type { LibraryDatabase, LibraryStreamOptions, ServerDatabase } from '../library-stream.ts'
import type { Stream } from '../stream.ts'

export * from '../index.ts'
export type { LibraryDatabase, LibraryStreamOptions, MysqlDatabase, ServerDatabase } from '../library-stream.ts'

export interface KyselyStreamOptions<
  Transaction,
  Executor,
  Database extends LibraryDatabase = LibraryDatabase,
> extends LibraryStreamOptions<Transaction, Database> {
  /** Kysely's `sql` tag, from `import { sql } from 'kysely'`. */
  readonly sql: KyselySql<Executor>
}

/**
 * Makes a stream of a Kysely on PostgreSQL, MariaDB, MySQL or SQLite. Transactions are those of Kysely; on SQLite they are a `Kysely` on the
 * connection. New jobs of other processes are found by polling. Kysely does not listen for errors of the connections of pg, and a connection that is
 * lost would end the process: `pool.on('error', log).on('connect', (client) => client.on('error', log))`.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const stream = taskstream(new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }), { database: 'postgres', sql })
 * await stream.transaction(async (trx) => {
 *   await trx.insertInto('invoice').values({ id: 'inv-1' }).execute()
 *   await stream.push(trx, email, { to: 'a@example.org', subject: 'Hello' })
 * })
 */
export function taskstream<Transaction extends object & Executor & KyselyTransaction<Executor>, Executor>(
  db: KyselyDatabase<Transaction>,
  options: KyselyStreamOptions<Transaction, Executor, ServerDatabase>,
): Stream<Transaction>
export function taskstream<Connection extends object & Executor & KyselyTransaction<Executor>, Executor>(
  db: KyselyConnections<Connection>,
  options: KyselyStreamOptions<Connection, Executor, 'sqlite'>,
): Stream<Connection>
export function taskstream<Transaction extends object & Executor & KyselyTransaction<Executor>, Executor>(
  db: KyselyDatabase<Transaction> | KyselyConnections<Transaction>,
  own: KyselyStreamOptions<Transaction, Executor>,
): Stream<Transaction> {
  const { sql, ...options } = checkedOptions(own, "{ sql, database: 'postgres' }")
  checkHas(db, 'connection', 'db', 'an instance of Kysely, such as new Kysely({ dialect })')
  checkTag(sql, 'kysely')
  const onServer = db as KyselyDatabase<Transaction>
  const onFile = db as KyselyConnections<Transaction>
  return libraryStream(options, {
    postgres: (pool) => ({ adapter: fromKysely(sql), transactions: kyselyTransactions(onServer, pool) }),
    mysql: (pool) => ({ adapter: fromKyselyMysql(sql), transactions: kyselyMysqlTransactions(onServer, sql, pool) }),
    sqlite: () => ({ adapter: fromKysely(sql), transactions: kyselySqliteTransactions(onFile, sql) }),
  })
}
