import { checkInteger, checkNames, optionNames } from '@taskstream/task-api'
import type { Execution, TaskError, TaskRepository, TransactionSource } from '@taskstream/task-api'
import { Dispatcher } from './dispatcher.ts'

export interface LimitTransactionsOptions {
  /** How long the database may take for each of them, in milliseconds, 100 to one day. Default 30 000. */
  readonly statementTimeoutMs?: number
}

/** Transactions none of which waits for ever. */
export interface LimitedTransactions<Transaction> extends TransactionSource<Transaction> {
  /** Gives up those under way. */
  end(reason: TaskError): void
}

const names = optionNames<LimitTransactionsOptions>('limitTransactions', { statementTimeoutMs: true })

/**
 * Gives up what the database does not answer in time, as a node does: to begin a transaction, all that is done in it, to commit it. For a loop of
 * one's own.
 *
 * @throws TaskError ARGUMENT_INVALID; from a transaction DATABASE_BUSY, DATABASE_UNAVAILABLE: its outcome may be unknown
 * @example
 * const transactions = limitTransactions(tasks, pgTransactions(pool), { statementTimeoutMs: 5_000 })
 */
export function limitTransactions<Transaction>(
  repository: Pick<TaskRepository<NoInfer<Transaction>, Execution>, 'limitStatements'>,
  transactions: TransactionSource<Transaction>,
  options: LimitTransactionsOptions = {},
): LimitedTransactions<Transaction> {
  checkNames(names, options)
  const { statementTimeoutMs = 30_000 } = options
  checkInteger('statementTimeoutMs', statementTimeoutMs, 100, 86_400_000)
  const dispatcher = new Dispatcher({ repository, transactions, statementTimeoutMs })
  return Object.assign(dispatcher.source, { end: (reason: TaskError) => dispatcher.end(reason) })
}
