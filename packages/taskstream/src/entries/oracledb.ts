import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromOracledb, oracle, oracledbTransactions } from '@taskstream/task-sql/oracledb'
import type { Oracledb, OracledbPool, OracledbPoolConnection, OracleOptions } from '@taskstream/task-sql/oracledb'
import { checkHas } from '../check-has.ts'
import { checkedOptions } from '../given.ts'
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
  own: OracledbStreamOptions<Connection>,
): Stream<Connection> {
  const { oracledb, dialect, ...options } = checkedOptions(own, '{ oracledb, dialect }')
  checkHas(pool, 'getConnection', 'pool', 'a pool of oracledb, such as await oracledb.createPool({ … })')
  const repository = sqlTaskRepository({ dialect: oracle(dialect), adapter: fromOracledb(oracledb) })
  return new Stream<Connection, 'async'>({ repository, transactions: oracledbTransactions(pool) }, options)
}
