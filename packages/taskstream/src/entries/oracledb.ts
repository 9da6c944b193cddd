import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromOracledb, oracle, oracledbTransactions } from '@taskstream/task-sql/oracledb'
import type { Oracledb, OracledbPool, OracledbPoolConnection, OracleOptions } from '@taskstream/task-sql/oracledb'
import { Stream } from '../stream.ts'
import type { StreamOptions } from '../stream-options.ts'

export * from '../index.ts'

export interface OracledbStreamOptions<Connection> extends StreamOptions<Connection> {
  /** The driver itself, whose types of binds are needed. */
  readonly oracledb: Oracledb
  /** Options of the dialect, such as its schema. */
  readonly dialect?: OracleOptions
}

/**
 * Makes a stream of a pool of oracledb. Never run against a server. New jobs of other processes are found by polling.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const stream = taskstream(await oracledb.createPool({ user, password, connectString }), { oracledb })
 */
export function taskstream<Connection extends OracledbPoolConnection>(
  pool: OracledbPool<Connection>,
  { oracledb, dialect, ...options }: OracledbStreamOptions<Connection>,
): Stream<Connection> {
  const repository = sqlTaskRepository({ dialect: oracle(dialect), adapter: fromOracledb(oracledb) })
  return new Stream<Connection, 'async'>({ repository, transactions: oracledbTransactions(pool) }, options)
}
