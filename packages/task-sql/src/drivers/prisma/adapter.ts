import { checkIsTransaction } from '../shared/ended-transactions.ts'
import { render } from '../../core/statement.ts'
import type { SqlValue } from '../../core/statement.ts'
import type { Row, SqlAdapter } from '../../core/verb.ts'
import { driversError } from './errors.ts'

/** The part of Prisma's `tx` that the adapter uses: an interactive `prisma.$transaction` gives a `tx` to its callback. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: SqlValue[]): PromiseLike<unknown>
}

/**
 * Hands statements to Prisma on PostgreSQL.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPrisma })
 * await prisma.$transaction((tx) => tasks.push(tx, 'invoices', 'inv-1'))
 */
export const fromPrisma: SqlAdapter<PrismaTransaction, 'async'> = {
  execution: 'async',
  execute: (transaction, statement) => {
    const text = render(statement, (position) => `$${position}`)
    return queryPrisma(transaction, text, statement.values)
  },
}

/**
 * Hands statements to Prisma on MariaDB or MySQL. Prisma does not say how many rows a statement has changed, so the adapter asks the server after
 * each statement that has returned no rows.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: mariadb(), adapter: fromPrismaMysql })
 */
export const fromPrismaMysql: SqlAdapter<PrismaTransaction, 'async'> = {
  execution: 'async',
  execute: async (transaction, statement) => {
    const text = render(statement, () => '?')
    const rows = await queryPrisma(transaction, text, statement.values)
    if (rows.length > 0) return rows
    const told = await queryPrisma(transaction, 'select row_count() as affectedRows, last_insert_id() as insertId')
    // The count is negative after a query, and after a write with RETURNING.
    return Number(told[0]?.['affectedRows']) < 0 ? rows : told
  },
}

/**
 * Hands statements to Prisma on SQLite.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromPrismaSqlite })
 */
export const fromPrismaSqlite: SqlAdapter<PrismaTransaction, 'async'> = {
  execution: 'async',
  execute: (transaction, statement) => {
    const text = render(statement, () => '?')
    return queryPrisma(transaction, text, statement.values)
  },
}

/**
 * Runs a text in a transaction.
 *
 * @throws the driver's error, as far as Prisma passes it on; TaskError TRANSACTION_CLOSED if the transaction has ended, or if there is none
 */
export async function queryPrisma(
  transaction: PrismaTransaction,
  text: string,
  values: readonly SqlValue[] = [],
): Promise<readonly Row[]> {
  checkIsTransaction(!('$connect' in transaction), 'the client')
  try {
    return (await transaction.$queryRawUnsafe(text, ...values)) as Row[]
  } catch (error) {
    throw driversError(error)
  }
}
