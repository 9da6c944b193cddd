import { renderer } from '../../core/cache.ts'
import type { Row, SqlAdapter } from '../../core/verb.ts'
import { checkOpen } from '../shared/ended-transactions.ts'

/** The part of a PGlite transaction that the adapter uses: `db.transaction` gives it to its callback. */
export interface PgliteTransaction {
  query(text: string, values: unknown[]): Promise<{ readonly rows: readonly unknown[]; readonly affectedRows?: number }>
}

const textOf = renderer((position) => `$${position}`)

/**
 * Runs statements in PGlite, which is PostgreSQL as WebAssembly in this process.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPglite })
 * await db.transaction((transaction) => tasks.push(transaction, 'invoices', 'inv-1'))
 */
export const fromPglite: SqlAdapter<PgliteTransaction, 'async'> = {
  execution: 'async',
  execute: async (transaction, statement) => {
    checkOpen(transaction)
    const text = textOf(statement)
    const { rows } = await transaction.query(text, [...statement.values])
    return rows as readonly Row[]
  },
}
