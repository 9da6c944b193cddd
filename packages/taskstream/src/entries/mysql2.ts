import { invalid } from '@taskstream/task-api'
import { fromMysql2, mysql2Transactions } from '@taskstream/task-sql/mysql2'
import type { Mysql2Pool, Mysql2PoolConnection } from '@taskstream/task-sql/mysql2'
import { checkHas } from '../check-has.ts'
import { libraryStream } from '../library-stream.ts'
import type { LibraryStreamOptions, MysqlDatabase } from '../library-stream.ts'
import type { Stream } from '../stream.ts'

export * from '../index.ts'
export type { MysqlDatabase } from '../library-stream.ts'

export type Mysql2StreamOptions<Connection> = Omit<
  LibraryStreamOptions<Connection, MysqlDatabase>,
  'connections' | 'notify' | 'partitioned'
>

/**
 * Makes a stream of a pool of `mysql2/promise`. Transactions are connections of the pool. New jobs of other processes are found by polling.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const stream = taskstream(createPool({ uri: 'mysql://…' }), { database: 'mariadb' })
 */
export function taskstream<Connection extends Mysql2PoolConnection>(
  pool: Mysql2Pool<Connection>,
  options: Mysql2StreamOptions<Connection>,
): Stream<Connection> {
  const { database } = Object(options) as Partial<typeof options>
  if (database !== 'mariadb' && database !== 'mysql') throw invalid('database', database, "must be 'mariadb' or 'mysql'")
  checkHas(pool, 'getConnection', 'pool', 'a pool of mysql2/promise, such as createPool({ uri })')
  // A pool of `mysql2` itself answers callbacks, so that a transaction would wait for ever.
  if ('promise' in pool) throw invalid('pool', 'a pool of mysql2', 'must be one of mysql2/promise: give pool.promise()')
  const parts = () => ({ adapter: fromMysql2, transactions: mysql2Transactions(pool) })
  return libraryStream<Connection, 'async'>(options, { postgres: parts, mysql: parts, sqlite: parts })
}
