import type { TransactionSource } from '@taskstream/task-api'
import type { DrizzleSqliteTransaction } from './sqlite-adapter.ts'
import type { DrizzleSql, DrizzleTransaction } from './adapter.ts'
import { classifyMysqlError } from '../../dialects/mysql/errors.ts'
import { classifyPostgresError } from '../../dialects/postgres/errors.ts'
import { connectionsOf } from '../shared/connections.ts'
import type { ConnectionsOptions } from '../shared/connections.ts'
import { hearPool, takeBackLost } from '../shared/hear-pool.ts'
import { libraryTransactions } from '../shared/library-transactions.ts'
import { inSavepoint, mysqlLibraryTransactions } from '../shared/mysql-library-transactions.ts'
import { checkCommitted, commitAndChain, preparesCommits } from '../shared/postgres-js-commit.ts'
import { immediateTransactions } from '../shared/sqlite-transactions.ts'
import type { SqliteTransactionsOptions } from '../shared/sqlite-transactions.ts'

/** The part of a Drizzle database on a server that a transaction source uses. */
export interface DrizzleDatabase<Transaction> {
  /** The pool of the driver below, which says how many connections it opens. */
  readonly $client?: unknown
  transaction(work: (transaction: Transaction) => Promise<void>, settings: { isolationLevel: 'read committed' }): Promise<void>
}

/**
 * Transactions of Drizzle on PostgreSQL, at READ COMMITTED whatever the server's default is.
 *
 * @example
 * const transactions = drizzleTransactions(drizzle(pool), sql)
 * @throws the error of `work`, after a rollback; TaskError TRANSACTION_CLOSED if `work` ignored an error of a statement; DATABASE_UNAVAILABLE if
 * no connection could be made, or if the connection was lost. When the connection was lost during the commit, the outcome is unknown
 */
export function drizzleTransactions<Transaction extends DrizzleTransaction<Query>, Query>(
  db: DrizzleDatabase<Transaction>,
  sql: DrizzleSql<Query>,
  options: ConnectionsOptions = {},
): TransactionSource<Transaction> {
  // Drizzle does not listen for errors of its connections.
  hearPool(db.$client)
  takeBackLost(db.$client)
  const last = preparesCommits(db.$client) ? commitAndChain : 'select'
  return libraryTransactions<Transaction>(
    (work) =>
      db.transaction(
        async (transaction) => {
          await work(transaction)
          // PostgreSQL answers the commit of an aborted transaction with a rollback, which Drizzle does not notice: this statement fails instead.
          checkCommitted(await transaction.execute(sql([last] as unknown as TemplateStringsArray)))
        },
        { isolationLevel: 'read committed' },
      ),
    classifyPostgresError,
    connectionsOf(options, () => db.$client),
    (transaction) => transaction.execute(sql`select`),
  )
}

/**
 * Transactions of Drizzle on MariaDB or MySQL, at READ COMMITTED whatever the server's default is.
 *
 * @example
 * const transactions = drizzleMysqlTransactions(drizzle(pool), sql)
 * @throws the error of `work`, after a rollback; TaskError TRANSACTION_CLOSED if `work` went on after a deadlock or a definition, either of which
 * ends the transaction: later writes of `work` are committed; DATABASE_UNAVAILABLE if no connection could be made, or if the connection was lost.
 * When the connection was lost during the commit, the outcome is unknown
 */
export function drizzleMysqlTransactions<Transaction extends DrizzleTransaction<Query>, Query>(
  db: DrizzleDatabase<Transaction>,
  sql: DrizzleSql<Query>,
  options: ConnectionsOptions = {},
): TransactionSource<Transaction> {
  const run = (transaction: Transaction, text: string): PromiseLike<unknown> =>
    transaction.execute(sql([text] as unknown as TemplateStringsArray))
  return mysqlLibraryTransactions<Transaction>(
    (work) =>
      db.transaction((transaction) => inSavepoint(transaction, (text) => run(transaction, text), work), {
        isolationLevel: 'read committed',
      }),
    classifyMysqlError,
    connectionsOf(options, () => db.$client),
    run,
  )
}

/**
 * Transactions of Drizzle on better-sqlite3, one after the other. Give the source a connection that nobody else uses. `work` gets the database
 * itself, as Drizzle's own transactions there are synchronous and cannot await.
 *
 * @example
 * const transactions = drizzleSqliteTransactions(drizzle(new Database('tasks.db')), sql)
 * @throws the error of `work`, after a rollback; TaskError DATABASE_BUSY if another process keeps writing; LIFECYCLE inside another transaction of
 * this source
 */
export function drizzleSqliteTransactions<Database extends DrizzleSqliteTransaction<Query>, Query>(
  db: Database,
  sql: DrizzleSql<Query>,
  options: SqliteTransactionsOptions = {},
): TransactionSource<Database> {
  return immediateTransactions((use) => use(db, (text) => db.run(sql([text] as unknown as TemplateStringsArray))), options)
}
