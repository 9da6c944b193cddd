import type { DatabaseSync } from 'node:sqlite'
import { checkNode, openSqlite } from './transactions/open-sqlite.ts'
import type { OpenSqliteOptions } from './transactions/open-sqlite.ts'

export { fromNodeSqlite } from './adapters/from-node-sqlite.ts'
export type { NodeSqliteDatabase } from './adapters/from-node-sqlite.ts'
export { sqlite } from './dialects/sqlite.ts'
export { sqliteListener } from './notifiers/sqlite.ts'
export type { SqliteListenerOptions } from './notifiers/sqlite.ts'
export type { OpenSqliteOptions } from './transactions/open-sqlite.ts'
export { sqliteTransactions } from './transactions/sqlite-transactions.ts'
export type { SqliteDatabase, SqliteTransactionsOptions } from './transactions/sqlite-transactions.ts'

/**
 * Opens a SQLite file (`:memory:` for none) with the driver that comes with Node.js.
 *
 * @throws TaskError RUNTIME_UNSUPPORTED if this Node.js is too old to have it; DATABASE_MISSING if the file cannot be opened; DATABASE_READ_ONLY
 */
export async function openNodeSqlite(path: string, options: OpenSqliteOptions = {}): Promise<DatabaseSync> {
  checkNode('node:sqlite')
  const { DatabaseSync: Database } = await import('node:sqlite')
  return openSqlite(() => new Database(path), options)
}
