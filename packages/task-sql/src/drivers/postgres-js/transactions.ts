import type { TransactionSource } from '@taskstream/task-api'
import type { PostgresJsTransaction } from './adapter.ts'
import { classifyPostgresError } from '../../dialects/postgres/errors.ts'
import { connectionsOf } from '../shared/connections.ts'
import type { ConnectionsOptions } from '../shared/connections.ts'
import { libraryTransactions } from '../shared/library-transactions.ts'
import { checkCommitted, commitAndChain, preparesCommits } from '../shared/postgres-js-commit.ts'

/** The part of postgres.js that a transaction source uses: of the `sql` that `postgres(url)` returns. */
export interface PostgresJs<Transaction extends PostgresJsTransaction = PostgresJsTransaction> {
  readonly options?: { readonly max?: number | undefined }
  begin(options: string, work: (transaction: Transaction) => Promise<void>): Promise<unknown>
}

/**
 * Transactions of postgres.js, at READ COMMITTED whatever the server's default is. postgres.js fails a transaction after any failed statement, even
 * if `work` caught the error. What is resolved is committed, also where a connection has lost the statements that postgres.js has prepared on it; that costs
 * a round trip, unless postgres.js was opened with `prepare: false`.
 *
 * @example
 * const transactions = postgresJsTransactions(postgres(url))
 * @throws the error of `work`, after a rollback; TaskError DATABASE_UNAVAILABLE if no connection could be made, or if the connection was lost.
 * When the connection was lost during the commit, the outcome is unknown
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
    true,
    preparesCommits(sql) ? commit : undefined,
  )
}

async function commit(transaction: PostgresJsTransaction): Promise<void> {
  try {
    checkCommitted(await transaction.unsafe(commitAndChain, []))
  } catch (error) {
    throw classifyPostgresError(error) ?? error
  }
}
