import type { DatabaseSync } from 'node:sqlite'
import { checkNode, openSqlite } from '../shared/open-sqlite.ts'
import type { OpenSqliteOptions } from '../shared/open-sqlite.ts'

export { fromNodeSqlite } from './adapter.ts'
export type { NodeSqliteDatabase } from './adapter.ts'
export { sqlite } from '../../dialects/sqlite/dialect.ts'
export { sqliteListener } from '../shared/sqlite-listener.ts'
export type { SqliteListenerOptions } from '../shared/sqlite-listener.ts'
export { configureSqlite } from '../shared/open-sqlite.ts'
export type { OpenSqliteOptions } from '../shared/open-sqlite.ts'
export { sqliteTransactions } from '../shared/sqlite-transactions.ts'
export type { SqliteDatabase, SqliteTransactionsOptions } from '../shared/sqlite-transactions.ts'

/**
 * Opens a SQLite file by the driver that comes with Node.js, with a write-ahead log and a known durability. The path `:memory:` opens a database
 * without a file.
 *
 * @throws TaskError RUNTIME_UNSUPPORTED if this Node.js is too old to have the driver; DATABASE_MISSING if the file cannot be opened;
 * DATABASE_READ_ONLY if the file cannot be written; DATABASE_BUSY; ARGUMENT_INVALID
 * @example
 * const database = await openNodeSqlite('tasks.db')
 */
export async function openNodeSqlite(path: string, options: OpenSqliteOptions = {}): Promise<DatabaseSync> {
  checkNode('node:sqlite')
  const { DatabaseSync: Database } = await import('node:sqlite')
  return openSqlite(() => new Database(path), options)
}
