import { checkNode, openSqlite } from '../shared/open-sqlite.ts'
import type { OpenSqliteOptions } from '../shared/open-sqlite.ts'
import type { BetterSqlite3Database } from './adapter.ts'

export { fromBetterSqlite3 } from './adapter.ts'
export type { BetterSqlite3Database } from './adapter.ts'
export { sqlite } from '../../dialects/sqlite/dialect.ts'
export { sqliteListener } from '../shared/sqlite-listener.ts'
export type { SqliteListenerOptions } from '../shared/sqlite-listener.ts'
export type { OpenSqliteOptions } from '../shared/open-sqlite.ts'
export { sqliteTransactions } from '../shared/sqlite-transactions.ts'
export type { SqliteDatabase, SqliteTransactionsOptions } from '../shared/sqlite-transactions.ts'

/** A better-sqlite3 connection, as `openBetterSqlite3` opens it. */
export interface BetterSqlite3Connection extends BetterSqlite3Database {
  exec(text: string): unknown
  /** Begun by a call it is deferred, and fails where another process has written since it read: `.immediate(…)` waits at its begin. */
  transaction<Arguments extends unknown[], Result>(
    work: (...args: Arguments) => Result,
  ): ((...args: Arguments) => Result) & { immediate(...args: Arguments): Result }
  prepare(text: string): ReturnType<BetterSqlite3Database['prepare']> & { get(...values: unknown[]): unknown }
  close(): unknown
}

/**
 * Opens a SQLite file (`:memory:` for none) with what taskstream needs: a write-ahead log and a known durability.
 *
 * @throws TaskError RUNTIME_UNSUPPORTED before the driver is loaded, if this Node.js is too old for it; DATABASE_MISSING if the file cannot be
 * opened; DATABASE_READ_ONLY
 */
export async function openBetterSqlite3(path: string, options: OpenSqliteOptions = {}): Promise<BetterSqlite3Connection> {
  checkNode('better-sqlite3')
  // The driver is the user's own dependency, and its types are not ours: only what the interface above names is used.
  const driver: string = 'better-sqlite3'
  const { default: Database } = (await import(driver)) as { default: new (path: string) => BetterSqlite3Connection }
  return openSqlite(() => new Database(path), options)
}
