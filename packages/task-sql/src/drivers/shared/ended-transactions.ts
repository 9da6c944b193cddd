import { TaskError } from '@taskstream/task-api'

/**
 * Transactions that have ended. The note is not written on the transaction, which may be frozen or a proxy. The transaction is the only object that
 * adapter and source share.
 */
const ended = new WeakSet<object>()

/** Notes that a library has committed, rolled back or lost this transaction. */
export function endTransaction(transaction: object): void {
  ended.add(transaction)
}

/**
 * Refuses a transaction that has ended. Work may go on after its transaction was lost, and a library such as postgres.js may then send the next
 * statement over another connection, outside any transaction.
 *
 * @throws TaskError TRANSACTION_CLOSED
 */
export function checkOpen(transaction: object): void {
  if (ended.has(transaction)) throw new TaskError('TRANSACTION_CLOSED', 'This transaction has ended, or its connection was lost')
}

/**
 * Refuses what a library has beside its transactions: a pool, or the whole database. It would send each statement over any connection, and commit it by itself.
 *
 * @param isTransaction whether this may be a transaction
 * @param what what was given instead
 * @throws TaskError TRANSACTION_CLOSED
 */
export function checkIsTransaction(isTransaction: boolean, what: string): void {
  if (!isTransaction)
    throw new TaskError(
      'TRANSACTION_CLOSED',
      `There is no transaction here: this is ${what}, which would commit each statement by itself. Pass what the callback of your transaction was given`,
    )
}
