import { render } from '../../core/statement.ts'
import type { SqlValue } from '../../core/statement.ts'
import type { Row, SqlAdapter } from '../../core/verb.ts'

/** What we need of libSQL: what `client.transaction('write')` gives. */
export interface LibsqlTransaction {
  execute(statement: { sql: string; args: SqlValue[] }): Promise<{ readonly rows: readonly object[] }>
}

/**
 * Hands statements to libSQL.
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
