import { TaskError } from '@taskstream/task-api'
import { render } from '../../core/statement.ts'
import type { SqlValue } from '../../core/statement.ts'
import type { Row, SqlAdapter } from '../../core/verb.ts'
import { checkIsTransaction } from '../shared/ended-transactions.ts'
import { withOwnNames } from '../shared/column-names.ts'

/** The part of Knex's `trx` that the adapter uses: `knex.transaction` gives a `trx` to its callback. */
export interface KnexTransaction {
  raw(text: string, values: SqlValue[]): PromiseLike<unknown>
  isCompleted(): boolean
}

/**
 * Hands statements to Knex on PostgreSQL.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromKnex })
 * await knex.transaction((trx) => tasks.push(trx, 'invoices', 'inv-1'))
 */
export const fromKnex: SqlAdapter<KnexTransaction, 'async'> = knexAdapter((result) =>
  withOwnNames((result as { rows: Row[] }).rows),
)

/**
 * Hands statements to Knex on MariaDB or MySQL, over mysql2.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: mariadb(), adapter: fromKnexMysql })
 */
export const fromKnexMysql: SqlAdapter<KnexTransaction, 'async'> = knexAdapter((result) => {
  const [told] = result as [unknown]
  return Array.isArray(told) ? withOwnNames(told as Row[]) : [told as Row]
})

/**
 * Hands statements to Knex on SQLite, over better-sqlite3.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromKnexSqlite })
 */
export const fromKnexSqlite: SqlAdapter<KnexTransaction, 'async'> = knexAdapter((result) =>
  Array.isArray(result) ? withOwnNames(result as Row[]) : [],
)

function knexAdapter(rowsOf: (result: unknown) => readonly Row[]): SqlAdapter<KnexTransaction, 'async'> {
  return {
    execution: 'async',
    execute: async (transaction, { texts, values }) => {
      checkIsTransaction(typeof transaction.isCompleted === 'function', 'the instance of Knex')
      if (transaction.isCompleted()) throw new TaskError('TRANSACTION_CLOSED', 'This transaction has ended')
      // Knex takes every question mark for a placeholder unless it is escaped, even inside a literal.
      const text = render({ texts: texts.map((part) => part.replaceAll('?', '\\?')) }, () => '?')
      try {
        return rowsOf(await transaction.raw(text, [...values]))
      } catch (error) {
        throw inDriversWords(error)
      }
    },
  }
}

/**
 * Restores the message of the driver, by which dialects classify errors. Knex puts the statement before the message, and on some databases the
 * values too.
 */
export function inDriversWords(error: unknown): unknown {
  if (error instanceof Error) error.message = error.message.split(' - ').at(-1) ?? ''
  return error
}
