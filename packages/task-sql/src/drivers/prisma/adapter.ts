import { TaskError } from '@taskstream/task-api'
import { render } from '../../core/statement.ts'
import type { SqlValue } from '../../core/statement.ts'
import type { Row, SqlAdapter } from '../../core/verb.ts'
import { driversError } from './errors.ts'

/** What we need of Prisma: the `tx` that an interactive `prisma.$transaction` gives its callback. */
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
 * Hands statements to Prisma on MariaDB or MySQL. Prisma does not tell how many rows a statement has touched: the server is asked, after each
 * that has returned none.
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
    // Less than nothing: it was a query, or says what it returns.
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

/** @throws what the driver threw, as far as Prisma tells; TaskError TRANSACTION_CLOSED if the transaction has ended, or there is none */
export async function queryPrisma(
  transaction: PrismaTransaction,
  text: string,
  values: readonly SqlValue[] = [],
): Promise<readonly Row[]> {
  // The client itself would take any connection, and commit each statement by itself.
  if ('$connect' in transaction) throw new TaskError('TRANSACTION_CLOSED', 'There is no transaction here: this is the client')
  try {
    return (await transaction.$queryRawUnsafe(text, ...values)) as Row[]
  } catch (error) {
    throw driversError(error)
  }
}
