import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPostgresJs, postgres, postgresJsTransactions } from '@taskstream/task-sql/postgres-js'
import type { PostgresJs, PostgresJsTransaction, PostgresOptions } from '@taskstream/task-sql/postgres-js'
import { checkHas } from '../check-has.ts'
import { checkedOptions, given } from '../given.ts'
import { Stream } from '../stream.ts'
import type { StreamOptions } from '../stream-options.ts'

export * from '../index.ts'

export interface PostgresJsStreamOptions<Transaction> extends StreamOptions<Transaction>, PostgresOptions {}

/**
 * Makes a stream of postgres.js. Transactions are those of `sql.begin`. New jobs of other processes are found by polling.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const stream = taskstream(postgres(url))
 */
export function taskstream<Transaction extends PostgresJsTransaction>(
  sql: PostgresJs<Transaction>,
  own: PostgresJsStreamOptions<Transaction> = {},
): Stream<Transaction> {
  const { schema, partitioned, notify, ...options } = checkedOptions(own)
  checkHas(sql, 'begin', 'sql', 'a connection of Postgres.js, such as postgres(url)')
  const repository = sqlTaskRepository({ dialect: postgres(given({ schema, partitioned, notify })), adapter: fromPostgresJs })
  return new Stream<Transaction, 'async'>({ repository, transactions: postgresJsTransactions(sql) }, options)
}
