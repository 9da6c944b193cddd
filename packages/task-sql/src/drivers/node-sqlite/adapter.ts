import type { Row, SqlAdapter } from '../../core/verb.ts'
import { statementCache } from '../shared/statement-cache.ts'

/** The part of a `DatabaseSync` of node:sqlite that the adapter uses. The database must be in a transaction. */
export interface NodeSqliteDatabase {
  prepare(text: string): NodeSqliteStatement
  exec(text: string): void
}

interface NodeSqliteStatement {
  all(...values: (string | number | null)[]): unknown[]
}

const cached = statementCache<NodeSqliteDatabase, NodeSqliteStatement>()

/**
 * Hands statements to the SQLite that comes with Node.js, synchronously.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromNodeSqlite })
 */
export const fromNodeSqlite: SqlAdapter<NodeSqliteDatabase, 'sync'> = {
  execution: 'sync',
  execute: (database, statement) => cached(database, statement).all(...statement.values) as Row[],
}
