import type { Row, SqlAdapter } from '../../core/verb.ts'
import { statementCache } from '../shared/statement-cache.ts'

/** What we need of better-sqlite3: a `Database` in a transaction. */
export interface BetterSqlite3Database {
  prepare(text: string): BetterSqlite3Statement
}

interface BetterSqlite3Statement {
  readonly reader: boolean
  all(...values: unknown[]): unknown[]
  run(...values: unknown[]): unknown
}

const cached = statementCache<BetterSqlite3Database, BetterSqlite3Statement>()

/** Hands statements to better-sqlite3, synchronously: `db.transaction(() => tasks.push(db, …)).immediate()` is what it looks like. */
export const fromBetterSqlite3: SqlAdapter<BetterSqlite3Database, 'sync'> = {
  execution: 'sync',
  execute: (database, statement) => {
    const prepared = cached(database, statement)
    if (prepared.reader) return prepared.all(...statement.values) as Row[]
    prepared.run(...statement.values)
    return []
  },
}
