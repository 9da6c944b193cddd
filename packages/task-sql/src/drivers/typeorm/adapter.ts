import { TaskError } from '@taskstream/task-api'
import { render } from '../../core/statement.ts'
import type { Row, SqlAdapter } from '../../core/verb.ts'

/** The part of TypeORM's `EntityManager` that the adapter uses: `dataSource.transaction` gives a manager to its callback. */
export interface TypeormManager {
  readonly queryRunner?: TypeormQueryRunner | undefined
}

/** The part of TypeORM's `QueryRunner` that the adapter uses. A query runner may be given in place of its manager. */
export interface TypeormQueryRunner {
  readonly isReleased: boolean
  readonly isTransactionActive: boolean
  query(text: string, values: unknown[], structured: true): Promise<TypeormResult>
}

interface TypeormResult {
  readonly raw: unknown
  readonly records: unknown[]
}

type Transaction = TypeormManager | TypeormQueryRunner

/**
 * Hands statements to TypeORM on PostgreSQL.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromTypeorm })
 * await dataSource.transaction((manager) => tasks.push(manager, 'invoices', 'inv-1'))
 */
export const fromTypeorm: SqlAdapter<Transaction, 'async'> = typeormAdapter(
  (position) => `$${position}`,
  ({ records }) => records,
)

/**
 * Hands statements to TypeORM on MariaDB or MySQL, over mysql2.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: mariadb(), adapter: fromTypeormMysql })
 */
export const fromTypeormMysql: SqlAdapter<Transaction, 'async'> = typeormAdapter(
  () => '?',
  ({ raw }) => (Array.isArray(raw) ? raw : [raw]),
)

/**
 * Hands statements to TypeORM on better-sqlite3.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromTypeormSqlite })
 */
export const fromTypeormSqlite: SqlAdapter<Transaction, 'async'> = typeormAdapter(
  () => '?',
  ({ records }) => records,
)

function typeormAdapter(
  placeholder: (position: number) => string,
  rowsOf: (result: TypeormResult) => readonly unknown[],
): SqlAdapter<Transaction, 'async'> {
  return {
    execution: 'async',
    execute: async (transaction, statement) => {
      const rows = rowsOf(await runTypeorm(transaction, render(statement, placeholder), [...statement.values]))
      return rows as readonly Row[]
    },
  }
}

/**
 * Runs a text in a transaction.
 *
 * @throws the driver's error, which TypeORM wraps; TaskError TRANSACTION_CLOSED if the transaction has ended, or if there is none
 */
export async function runTypeorm(transaction: Transaction, text: string, values: unknown[] = []): Promise<TypeormResult> {
  const runner = ('queryRunner' in transaction ? transaction.queryRunner : transaction) as Partial<TypeormQueryRunner> | undefined
  // A manager without a transaction would send the statement over any connection, and commit each statement by itself.
  if (!runner?.isTransactionActive || runner.isReleased)
    throw new TaskError('TRANSACTION_CLOSED', 'There is no transaction here: it has ended, or its connection was lost')
  return (runner as TypeormQueryRunner).query(text, values, true).catch((error: unknown) => {
    throw driversError(error)
  })
}

export function driversError(error: unknown): unknown {
  return (error as { driverError?: unknown } | undefined)?.driverError ?? error
}
