import { checkInteger, checkNames, optionNames } from '@taskstream/task-api'
import type { Execution, TaskError, TaskRepository, TransactionSource } from '@taskstream/task-api'
import { Dispatcher } from './dispatcher.ts'

export interface LimitTransactionsOptions {
  /** How long the database may take for each step of a transaction, in milliseconds, 100 to one day. Default 30 000. */
  readonly statementTimeoutMs?: number
}

/** A transaction source with time limits. */
export interface LimitedTransactions<Transaction> extends TransactionSource<Transaction> {
  /** Gives up all transactions under way. */
  end(reason: TaskError): void
}

const names = optionNames<LimitTransactionsOptions>('limitTransactions', { statementTimeoutMs: true })

/**
 * Adds a node's time limits to a transaction source, for a loop of your own. A transaction is given up if the database takes too long to begin it, to do
 * its work, or to commit it.
 *
 * @throws TaskError ARGUMENT_INVALID. A transaction that is given up throws DATABASE_BUSY or DATABASE_UNAVAILABLE, and its outcome may be unknown
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
