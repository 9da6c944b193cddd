import { renderer } from '../../core/cache.ts'
import type { Row, SqlAdapter } from '../../core/verb.ts'
import { checkIsTransaction, checkOpen } from '../shared/ended-transactions.ts'
import { withOwnNames } from '../shared/column-names.ts'

/** The part of postgres.js that the adapter uses: of the `sql` that `sql.begin` gives to its callback. */
export interface PostgresJsTransaction {
  unsafe(text: string, values: never[]): PromiseLike<readonly object[]>
  typed(value: string, type: number): unknown
}

const textType = 25

const textOf = renderer((position) => `$${position}`)

/**
 * Hands statements to postgres.js. Statements are not prepared, so the adapter also works behind a pooler in transaction mode.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPostgresJs })
 * await sql.begin((transaction) => tasks.push(transaction, 'invoices', 'inv-1'))
 */
export const fromPostgresJs: SqlAdapter<PostgresJsTransaction, 'async'> = {
  execution: 'async',
  execute: async (transaction, statement) => {
    checkOpen(transaction)
    checkIsTransaction('savepoint' in transaction || 'release' in transaction, 'the whole `sql`')
    // Strings are sent as text, which the server casts: postgres.js would encode a string a second time for a parameter of type JSON.
    const values = statement.values.map((value) =>
      typeof value === 'string' ? transaction.typed(value, textType) : value,
    ) as never[]
    const rows = (await transaction.unsafe(textOf(statement), values)) as readonly Row[]
    return withOwnNames(rows)
  },
}
