import { invalid } from '@taskstream/task-api'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromMysql2, mariadb, mysql, mysql2Transactions } from '@taskstream/task-sql/mysql2'
import type { Mysql2Pool, Mysql2PoolConnection, MysqlOptions } from '@taskstream/task-sql/mysql2'
import { given } from '../given.ts'
import { Stream } from '../stream.ts'
import type { StreamOptions } from '../stream-options.ts'

export * from '../index.ts'

export interface Mysql2StreamOptions<Connection> extends StreamOptions<Connection>, MysqlOptions {
  /** Which of the two servers it is, as their SQL differs. */
  readonly server: 'mariadb' | 'mysql'
}

/**
 * Makes a stream of a pool of `mysql2/promise`. Transactions are connections of the pool. New jobs of other processes are found by polling.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const stream = taskstream(createPool({ uri: 'mysql://…' }), { server: 'mariadb' })
 */
export function taskstream<Connection extends Mysql2PoolConnection>(
  pool: Mysql2Pool<Connection>,
  { server, database, ...options }: Mysql2StreamOptions<Connection>,
): Stream<Connection> {
  if (server !== 'mariadb' && server !== 'mysql') throw invalid('server', server, "must be 'mariadb' or 'mysql'")
  const dialect = (server === 'mariadb' ? mariadb : mysql)(given({ database }))
  const repository = sqlTaskRepository({ dialect, adapter: fromMysql2 })
  return new Stream<Connection, 'async'>({ repository, transactions: mysql2Transactions(pool) }, options)
}
