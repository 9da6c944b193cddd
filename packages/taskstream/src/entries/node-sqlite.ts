import { fromNodeSqlite } from '@taskstream/task-sql/node-sqlite'
import type { NodeSqliteDatabase } from '@taskstream/task-sql/node-sqlite'
import { checkedOptions, given } from '../given.ts'
import { checkConnection, sqliteDriver } from '../sqlite-driver.ts'
import type { SqliteConnection, SqliteStreamOptions } from '../sqlite-driver.ts'
import { Stream } from '../stream.ts'

export * from '../index.ts'
export type { SqliteStreamOptions } from '../sqlite-driver.ts'

/**
 * Makes a stream of a connection of node:sqlite, which comes with Node.js, with a write-ahead log and a known durability. The stream needs the
 * connection for itself: write by `stream.transaction`, or on a connection of your own. A verb such as `push` returns a value.
 *
 * @throws TaskError ARGUMENT_INVALID; errors of SQLite
 * @example
 * const stream = taskstream(new DatabaseSync('shop.db'))
 */
export function taskstream<Database extends SqliteConnection & NodeSqliteDatabase>(
  database: Database,
  own: SqliteStreamOptions<Database> = {},
): Stream<Database, 'sync'> {
  const { synchronous, busyTimeoutMs, listen = true, ...options } = checkedOptions(own)
  checkConnection('node:sqlite', database)
  return new Stream(sqliteDriver(database, fromNodeSqlite, given({ synchronous, busyTimeoutMs }), listen), options)
}
