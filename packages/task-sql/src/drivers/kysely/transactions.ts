import type { TransactionSource } from '@taskstream/task-api'
import { classifyMysqlError } from '../../dialects/mysql/errors.ts'
import { classifyPostgresError } from '../../dialects/postgres/errors.ts'
import type { KyselySql } from './adapter.ts'
import { connectionsOf } from '../shared/connections.ts'
import type { ConnectionsOptions } from '../shared/connections.ts'
import { libraryTransactions } from '../shared/library-transactions.ts'
import { inSavepoint, mysqlLibraryTransactions } from '../shared/mysql-library-transactions.ts'
import { immediateTransactions } from '../shared/sqlite-transactions.ts'
import type { SqliteTransactionsOptions } from '../shared/sqlite-transactions.ts'

/** The part of a `Kysely` on a server that a transaction source uses. */
export interface KyselyDatabase<Transaction> {
  transaction(): {
    setIsolationLevel(level: 'read committed'): {
      execute(work: (transaction: Transaction) => Promise<void>): Promise<void>
    }
  }
}

/** The part of a `Kysely` on SQLite that a transaction source uses: `connection` keeps a connection for a callback until the callback ends. */
export interface KyselyConnections<Connection> {
  connection(): { execute(work: (connection: Connection) => Promise<void>): Promise<void> }
}

/**
 * Transactions of Kysely on PostgreSQL, at READ COMMITTED whatever the server's default is.
 *
 * @example
 * const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
 * const transactions = kyselyTransactions(db, { connections: pool.options.max })
 * @throws the error of `work`, after a rollback; TaskError DATABASE_UNAVAILABLE if no connection could be made, or if the connection was lost.
 * When the connection was lost during the commit, the outcome is unknown
 */
export function kyselyTransactions<Transaction extends object>(
  db: KyselyDatabase<Transaction>,
  options: ConnectionsOptions = {},
): TransactionSource<Transaction> {
  return libraryTransactions<Transaction>((work) => readCommitted(db, work), classifyPostgresError, connectionsOf(options))
}

/**
 * Transactions of Kysely on MariaDB or MySQL, at READ COMMITTED whatever the server's default is.
 *
 * @example
 * const transactions = kyselyMysqlTransactions(new Kysely<Tables>({ dialect: new MysqlDialect({ pool }) }), sql)
 * @throws the error of `work`, after a rollback; TaskError TRANSACTION_CLOSED if `work` went on after a deadlock or a definition, either of which
 * ends the transaction: later writes of `work` are committed; DATABASE_UNAVAILABLE if no connection could be made, or if the connection was lost.
 * When the connection was lost during the commit, the outcome is unknown
 */
export function kyselyMysqlTransactions<Transaction extends object & Executor, Executor>(
  db: KyselyDatabase<Transaction>,
  sql: KyselySql<Executor>,
  options: ConnectionsOptions = {},
): TransactionSource<Transaction> {
  const run = (transaction: Transaction, text: string): Promise<unknown> =>
    sql([text] as unknown as TemplateStringsArray).execute(transaction)
  return mysqlLibraryTransactions<Transaction>(
    (work) => readCommitted(db, (transaction) => inSavepoint(transaction, (text) => run(transaction, text), work)),
    classifyMysqlError,
    connectionsOf(options),
    run,
  )
}

function readCommitted<Transaction>(
  db: KyselyDatabase<Transaction>,
  work: (transaction: Transaction) => Promise<void>,
): Promise<void> {
  return db.transaction().setIsolationLevel('read committed').execute(work)
}

/**
 * Transactions of Kysely on SQLite, one after the other. Unlike Kysely's own transactions, these are immediate. `work` gets a `Kysely` on the
 * connection of the transaction. While a transaction is open, all other queries through `db` wait.
 *
 * @example
 * const transactions = kyselySqliteTransactions(new Kysely<Tables>({ dialect: new SqliteDialect({ database }) }), sql)
 * @throws the error of `work`, after a rollback; TaskError DATABASE_BUSY if another process keeps writing; LIFECYCLE inside another transaction of
 * this source
 */
export function kyselySqliteTransactions<Connection extends Executor, Executor>(
  db: KyselyConnections<Connection>,
  sql: KyselySql<Executor>,
  options: SqliteTransactionsOptions = {},
): TransactionSource<Connection> {
  return immediateTransactions(async (use) => {
    await db.connection().execute((connection) =>
      use(connection, async (text) => {
        await sql([text] as unknown as TemplateStringsArray).execute(connection)
      }),
    )
  }, options)
}
