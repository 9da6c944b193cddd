import type { Row, SqlAdapter } from '../../core/verb.ts'
import type { DrizzleSql } from './adapter.ts'

/** The part of Drizzle on better-sqlite3 that the adapter uses: of a `tx`, or of the database while a transaction is open on it. */
export interface DrizzleSqliteTransaction<Query> {
  all(query: Query): unknown[]
  run(query: Query): unknown
}

/**
 * Hands statements to Drizzle on better-sqlite3, synchronously.
 *
 * @param sql Drizzle's `sql` tag, from `import { sql } from 'drizzle-orm'`
 * @example
 * const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromDrizzleSqlite(sql) })
 * db.transaction((tx) => tasks.push(tx, 'invoices', 'inv-1'), { behavior: 'immediate' })
 */
export function fromDrizzleSqlite<Query>(sql: DrizzleSql<Query>): SqlAdapter<DrizzleSqliteTransaction<Query>, 'sync'> {
  return {
    execution: 'sync',
    execute: (transaction, { texts, values }) => {
      const query = sql(texts as unknown as TemplateStringsArray, ...values)
      try {
        return transaction.all(query) as Row[]
      } catch (error) {
        // Drizzle does not say which statements return rows. better-sqlite3 throws this error before it runs the statement.
        if (!(error instanceof TypeError && error.message.startsWith('This statement does not return data'))) throw error
        transaction.run(query)
        return []
      }
    },
  }
}
