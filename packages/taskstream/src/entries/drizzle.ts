import type { Execution } from '@taskstream/task-api'
import {
  drizzleMysqlTransactions,
  drizzleSqliteTransactions,
  drizzleTransactions,
  fromDrizzle,
  fromDrizzleMysql,
  fromDrizzleSqlite,
} from '@taskstream/task-sql/drizzle'
import type { DrizzleDatabase, DrizzleSql, DrizzleSqliteTransaction, DrizzleTransaction } from '@taskstream/task-sql/drizzle'
import { checkHas } from '../check-has.ts'
import { checkedOptions } from '../given.ts'
import { checkTag, libraryStream } from '../library-stream.ts'
import type { LibraryDatabase, LibraryStreamOptions, ServerDatabase } from '../library-stream.ts'
import type { Stream } from '../stream.ts'

export * from '../index.ts'
export type { LibraryDatabase, LibraryStreamOptions, MysqlDatabase, ServerDatabase } from '../library-stream.ts'

export interface DrizzleStreamOptions<
  Transaction,
  Query,
  Database extends LibraryDatabase = LibraryDatabase,
> extends LibraryStreamOptions<Transaction, Database> {
  /** Drizzle's `sql` tag, from `import { sql } from 'drizzle-orm'`. */
  readonly sql: DrizzleSql<Query>
}

/**
 * Makes a stream of a Drizzle database over node-postgres, postgres.js, mysql2 or better-sqlite3. Transactions are those of Drizzle. On SQLite they are
 * the database itself, which the stream needs for itself, and a verb such as `push` returns a value. New jobs of other processes are found by polling.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const stream = taskstream(drizzle(pool), { database: 'postgres', sql })
 * await stream.transaction(async (tx) => {
 *   await tx.insert(invoice).values({ id: 'inv-1' })
 *   await stream.push(tx, email, { to: 'a@example.org', subject: 'Hello' })
 * })
 */
export function taskstream<Transaction extends DrizzleTransaction<Query>, Query>(
  db: DrizzleDatabase<Transaction>,
  options: DrizzleStreamOptions<Transaction, Query, ServerDatabase>,
): Stream<Transaction>
export function taskstream<Database extends DrizzleSqliteTransaction<Query>, Query>(
  db: Database,
  options: DrizzleStreamOptions<Database, Query, 'sqlite'>,
): Stream<Database, 'sync'>
export function taskstream<Transaction extends DrizzleTransaction<Query> & DrizzleSqliteTransaction<Query>, Query>(
  db: DrizzleDatabase<Transaction> & Transaction,
  own: DrizzleStreamOptions<Transaction, Query>,
): Stream<Transaction, Execution> {
  const { sql, ...options } = checkedOptions(own, "{ sql, database: 'postgres' }")
  checkHas(db, 'transaction', 'db', 'a database of Drizzle, such as drizzle(pool)')
  checkTag(sql, 'drizzle-orm')
  return libraryStream<Transaction, Execution>(options, {
    postgres: (pool) => ({ adapter: fromDrizzle(sql), transactions: drizzleTransactions(db, sql, pool) }),
    mysql: (pool) => ({ adapter: fromDrizzleMysql(sql), transactions: drizzleMysqlTransactions(db, sql, pool) }),
    sqlite: () => ({ adapter: fromDrizzleSqlite(sql), transactions: drizzleSqliteTransactions<Transaction, Query>(db, sql) }),
  })
}
