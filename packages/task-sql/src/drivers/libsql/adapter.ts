import { render } from '../../core/statement.ts'
import type { SqlValue } from '../../core/statement.ts'
import type { Row, SqlAdapter } from '../../core/verb.ts'

/** The part of a libSQL transaction that the adapter uses: `client.transaction('write')` returns it. */
export interface LibsqlTransaction {
  execute(statement: { sql: string; args: SqlValue[] }): Promise<{ readonly rows: readonly object[] }>
}

/**
 * Runs statements in a libSQL transaction.
 *
 * @example
 * await transactions((transaction) => tasks.push(transaction, 'invoices', 'inv-1'))
 */
export const fromLibsql: SqlAdapter<LibsqlTransaction, 'async'> = {
  execution: 'async',
  execute: async (transaction, statement) => {
    const sql = render(statement, () => '?')
    const { rows } = await transaction.execute({ sql, args: [...statement.values] })
    return rows as readonly Row[]
  },
}
