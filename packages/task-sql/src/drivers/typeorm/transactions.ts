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

/** What we need of a TypeORM `DataSource`. */
export interface TypeormDataSource<Manager> {
  /** Of the database, with the pool. */
  readonly driver?: unknown
  transaction(isolation: 'READ COMMITTED' | 'SERIALIZABLE', work: (manager: Manager) => Promise<void>): Promise<unknown>
}

/**
 * Transactions of TypeORM on PostgreSQL, at READ COMMITTED whatever the server's default is.
 *
 * @example
 * const transactions = typeormTransactions(await new DataSource({ type: 'postgres', url }).initialize())
 * @throws what `work` throws, after a rollback; TaskError TRANSACTION_CLOSED if `work` ignored an error of a statement, or the data source was
 * destroyed; DATABASE_UNAVAILABLE if there is no connection, or it is lost: on the commit itself the outcome is unknown
 */
export function typeormTransactions<Manager extends TypeormManager>(
  dataSource: TypeormDataSource<Manager>,
  options: ConnectionsOptions = {},
): TransactionSource<Manager> {
  return libraryTransactions<Manager>(
    (work) =>
      dataSource.transaction('READ COMMITTED', async (manager) => {
        await work(manager)
        // PostgreSQL answers a commit of an aborted transaction with a rollback, and TypeORM does not look: this fails instead.
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
 * @throws what `work` throws, after a rollback; TaskError TRANSACTION_CLOSED if `work` ignored a deadlock, or the end of the transaction by a
 * definition: what it wrote after that is committed; and if the data source was destroyed; DATABASE_UNAVAILABLE if there is no connection, or it is
 * lost: on the commit itself the outcome is unknown
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

/** TypeORM's driver for PostgreSQL calls it the master, that for MariaDB and MySQL the pool. */
function poolOf({ driver }: { readonly driver?: unknown }): unknown {
  const { master, pool } = (driver ?? {}) as { readonly master?: unknown; readonly pool?: unknown }
  return master ?? pool
}

/** A query runner that has let go of its connection in the midst of its transaction has lost it. */
async function ask(manager: TypeormManager, text: string): Promise<void> {
  if (manager.queryRunner?.isReleased) throw new TaskError('DATABASE_UNAVAILABLE', 'The connection of this transaction was lost')
  await runTypeorm(manager, text)
}

function classifyTypeormError(error: unknown): TaskError | undefined {
  if (!(error instanceof Error) || !/^Driver not Connected|^Connection is not established/.test(error.message)) return undefined
  return new TaskError('TRANSACTION_CLOSED', 'This data source was destroyed, or never initialised', {}, { cause: error })
}

/**
 * Transactions of TypeORM on better-sqlite3, one after the other: they are immediate, which TypeORM's own are not. The data source is this source's
 * own: TypeORM has one connection to it, and what is done through it while a transaction lasts becomes part of that.
 *
 * @example
 * const transactions = typeormSqliteTransactions(await new DataSource({ type: 'better-sqlite3', database: 'tasks.db' }).initialize())
 * @throws what `work` throws, after a rollback; TaskError DATABASE_BUSY if another process keeps writing, LIFECYCLE inside another
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
