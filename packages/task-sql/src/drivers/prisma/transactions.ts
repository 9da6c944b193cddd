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

/** What we need of a Prisma client for a server. */
export interface PrismaDatabase<Transaction> {
  $transaction(work: (transaction: Transaction) => Promise<void>, settings: { isolationLevel: 'ReadCommitted' }): Promise<unknown>
}

/** What we need of a transaction that Prisma, from 7.5 on, has begun on MariaDB or MySQL: another one inside it. */
export interface PrismaNesting<Transaction> {
  $transaction(work: (transaction: Transaction) => Promise<void>): Promise<unknown>
}

/** What we need of a Prisma client for SQLite. */
export interface PrismaSqliteDatabase<Transaction> {
  $transaction(work: (transaction: Transaction) => Promise<void>): Promise<unknown>
}

/**
 * Transactions of Prisma on PostgreSQL, at READ COMMITTED whatever the server's default is. Prisma ends each after the `timeout` of its
 * `transactionOptions`, of five seconds unless set.
 *
 * @example
 * const transactions = prismaTransactions(new PrismaClient({ adapter: new PrismaPg({ connectionString }) }))
 * @throws what `work` throws, after a rollback; TaskError TRANSACTION_CLOSED if `work` ignored an error of a statement, or took longer than Prisma
 * allows; DATABASE_UNAVAILABLE if there is no connection, or it is lost: on the commit itself the outcome is unknown
 */
export function prismaTransactions<Transaction extends PrismaTransaction>(
  prisma: PrismaDatabase<Transaction>,
  options: ConnectionsOptions = {},
): TransactionSource<Transaction> {
  return libraryTransactions<Transaction>(
    (work) =>
      readCommitted(prisma, async (transaction) => {
        await work(transaction)
        // PostgreSQL answers a commit of an aborted transaction with a rollback, and Prisma does not look: this fails instead.
        await queryPrisma(transaction, 'select')
      }),
    named(classifyPostgresError),
    connectionsOf(options),
    (transaction) => queryPrisma(transaction, 'select'),
  )
}

/**
 * Transactions of Prisma 7.5 and later on MariaDB or MySQL, at READ COMMITTED whatever the server's default is. Prisma ends each after the `timeout` of
 * its `transactionOptions`, of five seconds unless set.
 *
 * @example
 * const transactions = prismaMysqlTransactions(new PrismaClient({ adapter: new PrismaMariaDb('mariadb://…') }))
 * @throws what `work` throws, after a rollback; TaskError TRANSACTION_CLOSED if `work` took longer than Prisma allows, or ignored a deadlock, or the end
 * of the transaction by a definition: what it wrote after that is committed; DATABASE_UNAVAILABLE if there is no connection, or it is lost: on the
 * commit itself the outcome is unknown
 */
export function prismaMysqlTransactions<Transaction extends PrismaTransaction & PrismaNesting<Transaction>>(
  prisma: PrismaDatabase<Transaction>,
  options: ConnectionsOptions = {},
): TransactionSource<Transaction> {
  return mysqlLibraryTransactions<Transaction>(
    // Prisma's own savepoints: it prepares every statement, and MySQL prepares none of these.
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

/** By what the driver has thrown, of which Prisma has made its own. */
function named(classify: (error: unknown) => TaskError | undefined): (error: unknown) => TaskError | undefined {
  return (error) =>
    nameOf(error, (one) => {
      const told = driversError(one)
      return told instanceof TaskError ? told : classify(told)
    }) ?? (error instanceof TaskError ? error : undefined)
}

/**
 * Transactions of Prisma on SQLite, one after the other: they are immediate, which Prisma's own are not. The client is this source's own: it has one
 * connection, and what is done through it while a transaction lasts becomes part of that. Prisma ends each after the `timeout` of its
 * `transactionOptions`, of five seconds unless set: waiting for another process is part of it.
 *
 * @example
 * const transactions = prismaSqliteTransactions(new PrismaClient({ adapter: new PrismaBetterSqlite3({ url: 'file:tasks.db' }) }))
 * @throws what `work` throws, after a rollback; TaskError DATABASE_BUSY if another process keeps writing, LIFECYCLE inside another,
 * TRANSACTION_CLOSED if it took longer than Prisma allows
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
