import {
  fromTypeorm,
  fromTypeormMysql,
  fromTypeormSqlite,
  typeormMysqlTransactions,
  typeormSqliteTransactions,
  typeormTransactions,
} from '@taskstream/task-sql/typeorm'
import type { TypeormDataSource, TypeormManager } from '@taskstream/task-sql/typeorm'
import { checkHas } from '../check-has.ts'
import { libraryStream } from '../library-stream.ts'
import type { LibraryStreamOptions } from '../library-stream.ts'
import type { Stream } from '../stream.ts'

export * from '../index.ts'
export type { LibraryDatabase, LibraryStreamOptions, MysqlDatabase, ServerDatabase } from '../library-stream.ts'

/**
 * Makes a stream of a data source of TypeORM on PostgreSQL, on MariaDB or MySQL over mysql2, or on SQLite over better-sqlite3. The data source must be
 * initialised before the stream is used. Transactions are entity managers. On SQLite the stream needs the data source for itself, as the data source
 * has one connection. New jobs of other processes are found by polling.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const stream = taskstream(await new DataSource({ type: 'postgres', url }).initialize(), { database: 'postgres' })
 * await stream.transaction(async (manager) => {
 *   await manager.insert(Invoice, { id: 'inv-1' })
 *   await stream.push(manager, email, { to: 'a@example.org', subject: 'Hello' })
 * })
 */
export function taskstream<Manager extends TypeormManager>(
  dataSource: TypeormDataSource<Manager>,
  options: LibraryStreamOptions<Manager>,
): Stream<Manager> {
  checkHas(dataSource, 'transaction', 'dataSource', 'a DataSource of TypeORM, such as new DataSource({ … })')
  return libraryStream(options, {
    postgres: (pool) => ({ adapter: fromTypeorm, transactions: typeormTransactions(dataSource, pool) }),
    mysql: (pool) => ({ adapter: fromTypeormMysql, transactions: typeormMysqlTransactions(dataSource, pool) }),
    sqlite: () => ({ adapter: fromTypeormSqlite, transactions: typeormSqliteTransactions(dataSource) }),
  })
}
