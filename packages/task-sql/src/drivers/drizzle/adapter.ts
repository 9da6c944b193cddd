import type { Row, SqlAdapter } from '../../core/verb.ts'
import { checkIsTransaction, checkOpen } from '../shared/ended-transactions.ts'

/** The part of Drizzle's `tx` that the adapter uses: `db.transaction` gives a `tx` to its callback. */
export interface DrizzleTransaction<Query> {
  execute(query: Query): PromiseLike<unknown>
  rollback(): unknown
}

/** Drizzle's `sql` tag. */
export type DrizzleSql<Query> = (strings: TemplateStringsArray, ...values: unknown[]) => Query

/**
 * Hands statements to Drizzle on PostgreSQL, over node-postgres or postgres.js.
 *
 * @param sql Drizzle's `sql` tag, from `import { sql } from 'drizzle-orm'`
 * @example
 * const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromDrizzle(sql) })
 * await db.transaction((tx) => tasks.push(tx, 'invoices', 'inv-1'))
 */
export function fromDrizzle<Query>(sql: DrizzleSql<Query>): SqlAdapter<DrizzleTransaction<Query>, 'async'> {
  return {
    execution: 'async',
    execute: async (transaction, { texts, values }) => {
      checkOpen(transaction)
      checkIsTransaction(typeof transaction.rollback === 'function', 'the database')
      const result = await transaction.execute(sql(texts as unknown as TemplateStringsArray, ...values))
      // node-postgres returns an object with the rows, postgres.js the rows themselves.
      return Array.isArray(result) ? (result as Row[]) : (result as { rows: Row[] }).rows
    },
  }
}

/**
 * Hands statements to Drizzle on MariaDB or MySQL, over mysql2.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: mariadb(), adapter: fromDrizzleMysql(sql) })
 */
export function fromDrizzleMysql<Query>(sql: DrizzleSql<Query>): SqlAdapter<DrizzleTransaction<Query>, 'async'> {
  return {
    execution: 'async',
    execute: async (transaction, { texts, values }) => {
      checkOpen(transaction)
      checkIsTransaction(typeof transaction.rollback === 'function', 'the database')
      const [result] = (await transaction.execute(sql(texts as unknown as TemplateStringsArray, ...values))) as [unknown]
      return (Array.isArray(result) ? result : [result]) as readonly Row[]
    },
  }
}
