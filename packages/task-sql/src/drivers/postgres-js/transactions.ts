import type { TransactionSource } from '@taskstream/task-api'
import type { PostgresJsTransaction } from './adapter.ts'
import { classifyPostgresError } from '../../dialects/postgres/errors.ts'
import { connectionsOf } from '../shared/connections.ts'
import type { ConnectionsOptions } from '../shared/connections.ts'
import { libraryTransactions } from '../shared/library-transactions.ts'

/** What we need of postgres.js: the `sql` that `postgres(url)` returns. */
export interface PostgresJs<Transaction extends PostgresJsTransaction = PostgresJsTransaction> {
  readonly options?: { readonly max?: number | undefined }
  begin(options: string, work: (transaction: Transaction) => Promise<void>): Promise<unknown>
}

/**
 * Transactions of postgres.js, at READ COMMITTED whatever the server's default is. A statement that failed fails the
 * transaction, even if its error was caught: postgres.js has it so.
 *
 * @example
 * const transactions = postgresJsTransactions(postgres(url))
 * @throws what `work` throws, after a rollback; TaskError DATABASE_UNAVAILABLE if there is no connection, or it is lost: on the
 * commit itself the outcome is unknown
 */
export function postgresJsTransactions<Transaction extends PostgresJsTransaction>(
  sql: PostgresJs<Transaction>,
  options: ConnectionsOptions = {},
): TransactionSource<Transaction> {
  return libraryTransactions<Transaction>(
    (work) => sql.begin('isolation level read committed', work),
    classifyPostgresError,
    connectionsOf(options, () => sql),
    (transaction) => transaction.unsafe('select', []),
  )
}
