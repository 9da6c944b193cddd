import { renderer } from '../../core/cache.ts'
import type { Row, SqlAdapter } from '../../core/verb.ts'
import { checkOpen } from '../shared/ended-transactions.ts'
import { withOwnNames } from '../shared/column-names.ts'

/** What we need of postgres.js: the `sql` that `sql.begin` gives its callback. */
export interface PostgresJsTransaction {
  unsafe(text: string, values: never[]): PromiseLike<readonly object[]>
  typed(value: string, type: number): unknown
}

const textType = 25

const textOf = renderer((position) => `$${position}`)

/**
 * Hands statements to postgres.js, not prepared: right behind a pooler in transaction mode too.
 *
 * @example
 * await sql.begin((transaction) => tasks.push(transaction, 'invoices', 'inv-1'))
 */
export const fromPostgresJs: SqlAdapter<PostgresJsTransaction, 'async'> = {
  execution: 'async',
  execute: async (transaction, statement) => {
    checkOpen(transaction)
    // Strings go as text for the server to cast: what postgres.js finds to be JSON it would encode once more.
    const values = statement.values.map((value) =>
      typeof value === 'string' ? transaction.typed(value, textType) : value,
    ) as never[]
    const rows = (await transaction.unsafe(textOf(statement), values)) as readonly Row[]
    return withOwnNames(rows)
  },
}
