import type { Row, SqlAdapter } from '../../core/verb.ts'
import { statementCache } from '../shared/statement-cache.ts'

/** What we need of node:sqlite: a `DatabaseSync` in a transaction. */
export interface NodeSqliteDatabase {
  prepare(text: string): NodeSqliteStatement
  exec(text: string): void
}

interface NodeSqliteStatement {
  all(...values: (string | number | null)[]): unknown[]
}

const cached = statementCache<NodeSqliteDatabase, NodeSqliteStatement>()

/** Hands statements to the SQLite that comes with Node.js, synchronously. */
export const fromNodeSqlite: SqlAdapter<NodeSqliteDatabase, 'sync'> = {
  execution: 'sync',
  execute: (database, statement) => cached(database, statement).all(...statement.values) as Row[],
}
