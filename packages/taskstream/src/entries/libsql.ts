import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromLibsql, libsqlTransactions, sqlite } from '@taskstream/task-sql/libsql'
import type { LibsqlClient, LibsqlTransaction } from '@taskstream/task-sql/libsql'
import { checkHas } from '../check-has.ts'
import { checkedOptions } from '../given.ts'
import { Stream } from '../stream.ts'
import type { StreamOptions } from '../stream-options.ts'

export * from '../index.ts'

/**
 * Makes a stream of a libSQL client on a file. The stream needs the client for itself. New jobs of other processes are found by polling.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const stream = taskstream(createClient({ url: 'file:shop.db' }))
 */
export function taskstream<Transaction extends LibsqlTransaction>(
  client: LibsqlClient<Transaction>,
  options: StreamOptions<Transaction> = {},
): Stream<Transaction> {
  checkHas(client, 'transaction', 'client', "a client of @libsql/client, such as createClient({ url: 'file:shop.db' })")
  const repository = sqlTaskRepository({ dialect: sqlite(), adapter: fromLibsql })
  return new Stream<Transaction, 'async'>({ repository, transactions: libsqlTransactions(client) }, checkedOptions(options))
}
