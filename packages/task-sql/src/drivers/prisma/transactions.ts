import { TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import { queryPrisma } from './adapter.ts'
import type { PrismaTransaction } from './adapter.ts'
import { driversError } from './errors.ts'
import { classifyMysqlError } from '../../dialects/mysql/errors.ts'
import { nameOf } from '../../dialects/shared/name-of.ts'
import { classifyPostgresError } from '../../dialects/postgres/errors.ts'
import { connectionsOf } from '../shared/connections.ts'
import type { ConnectionsOptions } from '../shared/connections.ts'
import { immediateInstead } from '../shared/begin-immediate.ts'
import { libraryTransactions } from '../shared/library-transactions.ts'
import { mysqlLibraryTransactions } from '../shared/mysql-library-transactions.ts'
import { immediateTransactions } from '../shared/sqlite-transactions.ts'
import type { SqliteTransactionsOptions } from '../shared/sqlite-transactions.ts'

/** The part of a Prisma client for a server that a transaction source uses. */
export interface PrismaDatabase<Transaction> {
  $transaction(work: (transaction: Transaction) => Promise<void>, settings: { isolationLevel: 'ReadCommitted' }): Promise<unknown>
}

/** The part of a transaction on MariaDB or MySQL that a transaction source uses: since Prisma 7.5, a transaction can begin another inside itself. */
export interface PrismaNesting<Transaction> {
  $transaction(work: (transaction: Transaction) => Promise<void>): Promise<unknown>
}

/** The part of a Prisma client for SQLite that a transaction source uses. */
export interface PrismaSqliteDatabase<Transaction> {
  $transaction(work: (transaction: Transaction) => Promise<void>): Promise<unknown>
}

/**
 * Transactions of Prisma on PostgreSQL, at READ COMMITTED whatever the server's default is. Prisma ends each transaction after the `timeout` of its
 * `transactionOptions`, which is five seconds by default.
 *
 * @example
 * const transactions = prismaTransactions(new PrismaClient({ adapter: new PrismaPg({ connectionString }) }))
 * @throws the error of `work`, after a rollback; TaskError TRANSACTION_CLOSED if `work` ignored an error of a statement, or took longer than Prisma
 * allows; DATABASE_UNAVAILABLE if no connection could be made, or if the connection was lost. When the connection was lost during the commit, the
 * outcome is unknown
 */
export function prismaTransactions<Transaction extends PrismaTransaction>(
  prisma: PrismaDatabase<Transaction>,
  options: ConnectionsOptions = {},
): TransactionSource<Transaction> {
  return libraryTransactions<Transaction>(
    (work) =>
      readCommitted(prisma, async (transaction) => {
        await work(transaction)
        // PostgreSQL answers the commit of an aborted transaction with a rollback, which Prisma does not notice: this statement fails instead.
        await queryPrisma(transaction, 'select')
      }),
    named(classifyPostgresError),
    connectionsOf(options),
    (transaction) => queryPrisma(transaction, 'select'),
  )
}

/**
 * Transactions of Prisma 7.5 and later on MariaDB or MySQL, at READ COMMITTED whatever the server's default is. Prisma ends each transaction after the
 * `timeout` of its `transactionOptions`, which is five seconds by default.
 *
 * @example
 * const transactions = prismaMysqlTransactions(new PrismaClient({ adapter: new PrismaMariaDb('mariadb://…') }))
 * @throws the error of `work`, after a rollback; TaskError TRANSACTION_CLOSED if `work` took longer than Prisma allows. TRANSACTION_CLOSED also if
 * `work` went on after a deadlock or a definition, either of which ends the transaction: later writes of `work` are committed. DATABASE_UNAVAILABLE
 * if no connection could be made, or if the connection was lost. When the connection was lost during the commit, the outcome is unknown
 */
export function prismaMysqlTransactions<Transaction extends PrismaTransaction & PrismaNesting<Transaction>>(
  prisma: PrismaDatabase<Transaction>,
  options: ConnectionsOptions = {},
): TransactionSource<Transaction> {
  return mysqlLibraryTransactions<Transaction>(
    // These are Prisma's own savepoints: Prisma prepares every statement of ours, and MySQL cannot prepare a savepoint.
    (work) => readCommitted(prisma, async (transaction) => void (await transaction.$transaction(work))),
    named(classifyMysqlError),
    connectionsOf(options),
    queryPrisma,
  )
}

async function readCommitted<Transaction>(
  prisma: PrismaDatabase<Transaction>,
  work: (transaction: Transaction) => Promise<void>,
): Promise<void> {
  try {
    await prisma.$transaction(work, { isolationLevel: 'ReadCommitted' })
  } catch (error) {
    throw driversError(error)
  }
}

/** Classifies an error of Prisma by the driver's error inside it. */
function named(classify: (error: unknown) => TaskError | undefined): (error: unknown) => TaskError | undefined {
  return (error) =>
    nameOf(error, (one) => {
      const told = driversError(one)
      return told instanceof TaskError ? told : classify(told)
    }) ?? (error instanceof TaskError ? error : undefined)
}

/**
 * Transactions of Prisma on SQLite, one after the other. Unlike Prisma's own transactions, these are immediate. Give the source a client that nobody
 * else uses: the client has one connection, so other statements become part of the open transaction. Prisma ends each transaction after the `timeout`
 * of its `transactionOptions`, which is five seconds by default and includes the wait for another process.
 *
 * @example
 * const transactions = prismaSqliteTransactions(new PrismaClient({ adapter: new PrismaBetterSqlite3({ url: 'file:tasks.db' }) }))
 * @throws the error of `work`, after a rollback; TaskError DATABASE_BUSY if another process keeps writing; LIFECYCLE inside another transaction of
 * this source; TRANSACTION_CLOSED if the transaction took longer than Prisma allows
 */
export function prismaSqliteTransactions<Transaction extends PrismaTransaction>(
  prisma: PrismaSqliteDatabase<Transaction>,
  options: SqliteTransactionsOptions = {},
): TransactionSource<Transaction> {
  return immediateTransactions(async (use) => {
    await prisma.$transaction((transaction) => {
      const run = (text: string): Promise<unknown> => queryPrisma(transaction, text)
      return immediateInstead(run, () => use(transaction, run))
    })
  }, options)
}
