import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPglite, pgliteTransactions, postgres } from '@taskstream/task-sql/pglite'
import type { PgliteDatabase, PgliteTransaction, PostgresOptions } from '@taskstream/task-sql/pglite'
import { checkHas } from '../check-has.ts'
import { checkedOptions, given } from '../given.ts'
import { Stream } from '../stream.ts'
import type { StreamOptions } from '../stream-options.ts'

export * from '../index.ts'

export interface PgliteStreamOptions<Transaction> extends StreamOptions<Transaction>, Pick<PostgresOptions, 'schema'> {}

/**
 * Makes a stream of PGlite, which is PostgreSQL in this process. Transactions are those of PGlite, one at a time.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const stream = taskstream(new PGlite('shop'))
 */
export function taskstream<Transaction extends PgliteTransaction>(
  database: PgliteDatabase<Transaction>,
  own: PgliteStreamOptions<Transaction> = {},
): Stream<Transaction> {
  const { schema, ...options } = checkedOptions(own)
  checkHas(database, 'transaction', 'database', "a PGlite, such as new PGlite('shop')")
  const repository = sqlTaskRepository({ dialect: postgres(given({ schema })), adapter: fromPglite })
  return new Stream<Transaction, 'async'>({ repository, transactions: pgliteTransactions(database) }, options)
}
