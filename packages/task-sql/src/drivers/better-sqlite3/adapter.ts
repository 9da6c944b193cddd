import type { Row, SqlAdapter } from '../../core/verb.ts'
import { statementCache } from '../shared/statement-cache.ts'

/** The part of a better-sqlite3 `Database` that the adapter uses. The database must be in a transaction. */
export interface BetterSqlite3Database {
  prepare(text: string): BetterSqlite3Statement
}

interface BetterSqlite3Statement {
  readonly reader: boolean
  all(...values: unknown[]): unknown[]
  run(...values: unknown[]): unknown
}

const cached = statementCache<BetterSqlite3Database, BetterSqlite3Statement>()

/**
 * Hands statements to better-sqlite3, synchronously.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })
 * db.transaction(() => tasks.push(db, 'invoices', 'inv-1')).immediate()
 */
export const fromBetterSqlite3: SqlAdapter<BetterSqlite3Database, 'sync'> = {
  execution: 'sync',
  execute: (database, statement) => {
    const prepared = cached(database, statement)
    if (prepared.reader) return prepared.all(...statement.values) as Row[]
    prepared.run(...statement.values)
    return []
  },
}
