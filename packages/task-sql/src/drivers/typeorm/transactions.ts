import { TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import { driversError, runTypeorm } from './adapter.ts'
import type { TypeormManager } from './adapter.ts'
import { classifyMysqlError } from '../../dialects/mysql/errors.ts'
import { classifyPostgresError } from '../../dialects/postgres/errors.ts'
import { connectionsOf } from '../shared/connections.ts'
import type { ConnectionsOptions } from '../shared/connections.ts'
import { immediateInstead } from '../shared/begin-immediate.ts'
import { libraryTransactions } from '../shared/library-transactions.ts'
import { inSavepoint, mysqlLibraryTransactions } from '../shared/mysql-library-transactions.ts'
import { immediateTransactions } from '../shared/sqlite-transactions.ts'
import type { SqliteTransactionsOptions } from '../shared/sqlite-transactions.ts'

/** The part of a TypeORM `DataSource` that a transaction source uses. */
export interface TypeormDataSource<Manager> {
  /** TypeORM's driver of the database, which has the pool. */
  readonly driver?: unknown
  transaction(isolation: 'READ COMMITTED' | 'SERIALIZABLE', work: (manager: Manager) => Promise<void>): Promise<unknown>
}

/**
 * Transactions of TypeORM on PostgreSQL, at READ COMMITTED whatever the server's default is.
 *
 * @example
 * const transactions = typeormTransactions(await new DataSource({ type: 'postgres', url }).initialize())
 * @throws the error of `work`, after a rollback; TaskError TRANSACTION_CLOSED if `work` ignored an error of a statement, or if the data source was
 * destroyed; DATABASE_UNAVAILABLE if no connection could be made, or if the connection was lost. When the connection was lost during the commit, the
 * outcome is unknown
 */
export function typeormTransactions<Manager extends TypeormManager>(
  dataSource: TypeormDataSource<Manager>,
  options: ConnectionsOptions = {},
): TransactionSource<Manager> {
  return libraryTransactions<Manager>(
    (work) =>
      dataSource.transaction('READ COMMITTED', async (manager) => {
        await work(manager)
        // PostgreSQL answers the commit of an aborted transaction with a rollback, which TypeORM does not notice: this statement fails instead.
        await runTypeorm(manager, 'select')
      }),
    (error) => classifyPostgresError(driversError(error)) ?? classifyTypeormError(error),
    connectionsOf(options, () => poolOf(dataSource)),
    (manager) => ask(manager, 'select'),
  )
}

/**
 * Transactions of TypeORM on MariaDB or MySQL, at READ COMMITTED whatever the server's default is.
 *
 * @example
 * const transactions = typeormMysqlTransactions(await new DataSource({ type: 'mariadb', url }).initialize())
 * @throws the error of `work`, after a rollback; TaskError TRANSACTION_CLOSED if the data source was destroyed. TRANSACTION_CLOSED also if `work`
 * went on after a deadlock or a definition, either of which ends the transaction: later writes of `work` are committed. DATABASE_UNAVAILABLE if no
 * connection could be made, or if the connection was lost. When the connection was lost during the commit, the outcome is unknown
 */
export function typeormMysqlTransactions<Manager extends TypeormManager>(
  dataSource: TypeormDataSource<Manager>,
  options: ConnectionsOptions = {},
): TransactionSource<Manager> {
  return mysqlLibraryTransactions<Manager>(
    (work) =>
      dataSource.transaction('READ COMMITTED', (manager) => inSavepoint(manager, (text) => runTypeorm(manager, text), work)),
    (error) => classifyMysqlError(driversError(error)) ?? classifyTypeormError(error),
    connectionsOf(options, () => poolOf(dataSource)),
    ask,
  )
}

/** Finds the pool, which TypeORM's driver for PostgreSQL calls `master` and the driver for MariaDB and MySQL `pool`. */
function poolOf({ driver }: { readonly driver?: unknown }): unknown {
  const { master, pool } = (driver ?? {}) as { readonly master?: unknown; readonly pool?: unknown }
  return master ?? pool
}

/** Runs a text. A query runner that was released inside its transaction has lost its connection. */
async function ask(manager: TypeormManager, text: string): Promise<void> {
  if (manager.queryRunner?.isReleased) throw new TaskError('DATABASE_UNAVAILABLE', 'The connection of this transaction was lost')
  await runTypeorm(manager, text)
}

function classifyTypeormError(error: unknown): TaskError | undefined {
  if (!(error instanceof Error) || !/^Driver not Connected|^Connection is not established/.test(error.message)) return undefined
  return new TaskError('TRANSACTION_CLOSED', 'This data source was destroyed, or never initialised', {}, { cause: error })
}

/**
 * Transactions of TypeORM on better-sqlite3, one after the other. Unlike TypeORM's own transactions, these are immediate. Give the source a data
 * source that nobody else uses: a data source has one connection, so other statements become part of the open transaction.
 *
 * @example
 * const transactions = typeormSqliteTransactions(await new DataSource({ type: 'better-sqlite3', database: 'tasks.db' }).initialize())
 * @throws the error of `work`, after a rollback; TaskError DATABASE_BUSY if another process keeps writing; LIFECYCLE inside another transaction of
 * this source
 */
export function typeormSqliteTransactions<Manager extends TypeormManager>(
  dataSource: TypeormDataSource<Manager>,
  options: SqliteTransactionsOptions = {},
): TransactionSource<Manager> {
  return immediateTransactions(async (use) => {
    await dataSource.transaction('SERIALIZABLE', (manager) => {
      const run = (text: string): Promise<unknown> => runTypeorm(manager, text)
      return immediateInstead(run, () => use(manager, run))
    })
  }, options)
}
