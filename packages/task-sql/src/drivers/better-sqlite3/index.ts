import { checkNode, openSqlite } from '../shared/open-sqlite.ts'
import type { OpenSqliteOptions } from '../shared/open-sqlite.ts'
import type { BetterSqlite3Database } from './adapter.ts'

export { fromBetterSqlite3 } from './adapter.ts'
export type { BetterSqlite3Database } from './adapter.ts'
export { sqlite } from '../../dialects/sqlite/dialect.ts'
export { sqliteListener } from '../shared/sqlite-listener.ts'
export type { SqliteListenerOptions } from '../shared/sqlite-listener.ts'
export { configureSqlite } from '../shared/open-sqlite.ts'
export type { OpenSqliteOptions } from '../shared/open-sqlite.ts'
export { sqliteTransactions } from '../shared/sqlite-transactions.ts'
export type { SqliteDatabase, SqliteTransactionsOptions } from '../shared/sqlite-transactions.ts'

/** A better-sqlite3 connection, as `openBetterSqlite3` opens it. */
export interface BetterSqlite3Connection extends BetterSqlite3Database {
  exec(text: string): unknown
  /**
   * Makes a function that runs `work` in a transaction. Call it by `.immediate(…)`, which waits for other writers when the transaction begins. A
   * plain call begins a deferred transaction, which fails if another process has written since its first read.
   */
  transaction<Arguments extends unknown[], Result>(
    work: (...args: Arguments) => Result,
  ): ((...args: Arguments) => Result) & { immediate(...args: Arguments): Result }
  prepare(text: string): ReturnType<BetterSqlite3Database['prepare']> & { get(...values: unknown[]): unknown }
  close(): unknown
}

/**
 * Opens a SQLite file by better-sqlite3, with a write-ahead log and a known durability. The path `:memory:` opens a database without a file.
 *
 * @throws TaskError RUNTIME_UNSUPPORTED if this Node.js is too old for the driver, before the driver is loaded; DATABASE_MISSING if the file
 * cannot be opened; DATABASE_READ_ONLY if the file cannot be written; DATABASE_BUSY; ARGUMENT_INVALID
 * @example
 * const database = await openBetterSqlite3('tasks.db')
 */
export async function openBetterSqlite3(path: string, options: OpenSqliteOptions = {}): Promise<BetterSqlite3Connection> {
  checkNode('better-sqlite3')
  // The driver is a dependency of the user, so its types may be missing here: the interface above names the members that we use.
  const driver: string = 'better-sqlite3'
  const { default: Database } = (await import(driver)) as { default: new (path: string) => BetterSqlite3Connection }
  return openSqlite(() => new Database(path), options)
}
