import { TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import { inDriversWords } from './adapter.ts'
import type { KnexTransaction } from './adapter.ts'
import { classifyMysqlError } from '../../dialects/mysql/errors.ts'
import { classifyPostgresError } from '../../dialects/postgres/errors.ts'
import { connectionsOf } from '../shared/connections.ts'
import type { ConnectionsOptions } from '../shared/connections.ts'
import { immediateInstead } from '../shared/begin-immediate.ts'
import { libraryTransactions } from '../shared/library-transactions.ts'
import { inSavepoint, mysqlLibraryTransactions } from '../shared/mysql-library-transactions.ts'
import { immediateTransactions } from '../shared/sqlite-transactions.ts'
import type { SqliteTransactionsOptions } from '../shared/sqlite-transactions.ts'

/** The part of a Knex instance that a transaction source uses. */
export interface KnexDatabase<Transaction> {
  /** Knex's client of the database, which has the pool. */
  readonly client?: unknown
  transaction(
    work: (transaction: Transaction) => Promise<void>,
    settings?: { isolationLevel: 'read committed' },
  ): Promise<unknown>
}

/**
 * Transactions of Knex on PostgreSQL, at READ COMMITTED whatever the server's default is.
 *
 * @example
 * const transactions = knexTransactions(knex({ client: 'pg', connection: url }))
 * @throws the error of `work`, after a rollback; TaskError TRANSACTION_CLOSED if `work` ignored an error of a statement; DATABASE_UNAVAILABLE if
 * no connection could be made, or if the connection was lost. When the connection was lost during the commit, the outcome is unknown
 */
export function knexTransactions<Transaction extends KnexTransaction>(
  knex: KnexDatabase<Transaction>,
  options: ConnectionsOptions = {},
): TransactionSource<Transaction> {
  return libraryTransactions<Transaction>(
    (work) =>
      readCommitted(knex, async (transaction) => {
        await work(transaction)
        // PostgreSQL answers the commit of an aborted transaction with a rollback, which Knex does not notice: this statement fails instead.
        await transaction.raw('select', [])
      }),
    (error) => classified(error, classifyPostgresError),
    connectionsOf(options, () => poolOf(knex)),
    (transaction) => transaction.raw('select', []),
  )
}

/**
 * Transactions of Knex on MariaDB or MySQL, at READ COMMITTED whatever the server's default is.
 *
 * @example
 * const transactions = knexMysqlTransactions(knex({ client: 'mysql2', connection: url }))
 * @throws the error of `work`, after a rollback; TaskError TRANSACTION_CLOSED if `work` went on after a deadlock or a definition, either of which
 * ends the transaction: later writes of `work` are committed; DATABASE_UNAVAILABLE if no connection could be made, or if the connection was lost.
 * When the connection was lost during the commit, the outcome is unknown
 */
export function knexMysqlTransactions<Transaction extends KnexTransaction>(
  knex: KnexDatabase<Transaction>,
  options: ConnectionsOptions = {},
): TransactionSource<Transaction> {
  return mysqlLibraryTransactions<Transaction>(
    (work) => readCommitted(knex, (transaction) => inSavepoint(transaction, (text) => transaction.raw(text, []), work)),
    (error) => classified(error, classifyMysqlError),
    connectionsOf(options, () => poolOf(knex)),
    (transaction, text) => transaction.raw(text, []),
  )
}

function poolOf({ client }: { readonly client?: unknown }): unknown {
  return (client as { readonly pool?: unknown } | undefined)?.pool
}

function readCommitted<Transaction>(
  knex: KnexDatabase<Transaction>,
  work: (transaction: Transaction) => Promise<void>,
): Promise<unknown> {
  return knex.transaction(work, { isolationLevel: 'read committed' })
}

function classified(error: unknown, classify: (error: unknown) => TaskError | undefined): TaskError | undefined {
  const known = classify(inDriversWords(error))
  // Knex says so when the instance was destroyed and has no pool any more.
  const gone = error instanceof Error && error.message === 'Unable to acquire a connection'
  return known ?? (gone ? closed(error) : undefined)
}

function closed(cause: unknown): TaskError {
  return new TaskError('TRANSACTION_CLOSED', 'This Knex instance was destroyed', {}, { cause })
}

/**
 * Transactions of Knex on better-sqlite3, one after the other. Unlike Knex's own transactions, these are immediate. While a transaction is open, all
 * other queries through `knex` wait.
 *
 * @example
 * const transactions = knexSqliteTransactions(knex({ client: 'better-sqlite3', connection: { filename: 'tasks.db' } }))
 * @throws the error of `work`, after a rollback; TaskError DATABASE_BUSY if another process keeps writing; LIFECYCLE inside another transaction of
 * this source
 */
export function knexSqliteTransactions<Transaction extends KnexTransaction>(
  knex: KnexDatabase<Transaction>,
  options: SqliteTransactionsOptions = {},
): TransactionSource<Transaction> {
  return immediateTransactions(async (use) => {
    await knex.transaction((transaction) => {
      const run = async (text: string): Promise<unknown> => transaction.raw(text, [])
      return immediateInstead(run, () => use(transaction, run))
    })
  }, options)
}
