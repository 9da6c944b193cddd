import { fromBetterSqlite3 } from '@taskstream/task-sql/better-sqlite3'
import type { BetterSqlite3Database } from '@taskstream/task-sql/better-sqlite3'
import { checkedOptions, given } from '../given.ts'
import { checkConnection, sqliteDriver } from '../sqlite-driver.ts'
import type { SqliteConnection, SqliteStreamOptions } from '../sqlite-driver.ts'
import { Stream } from '../stream.ts'

export * from '../index.ts'
export type { SqliteStreamOptions } from '../sqlite-driver.ts'

/**
 * Makes a stream of a connection of better-sqlite3, with a write-ahead log and a known durability. The stream needs the connection for itself: write
 * by `stream.transaction`, or on a connection of your own. A verb such as `push` returns a value.
 *
 * @throws TaskError ARGUMENT_INVALID; errors of SQLite
 * @example
 * const stream = taskstream(new Database('shop.db'))
 */
export function taskstream<Database extends SqliteConnection & BetterSqlite3Database>(
  database: Database,
  own: SqliteStreamOptions<Database> = {},
): Stream<Database, 'sync'> {
  const { synchronous, busyTimeoutMs, listen = true, ...options } = checkedOptions(own)
  checkConnection('better-sqlite3', database)
  return new Stream(sqliteDriver(database, fromBetterSqlite3, given({ synchronous, busyTimeoutMs }), listen), options)
}
