import { TaskError } from '@taskstream/task-api'

/**
 * Here and not on the transaction, which is the library's and may be frozen or a proxy. Adapter and source have nothing else in common.
 */
const ended = new WeakSet<object>()

/** Notes that a library has committed, rolled back or lost this transaction. */
export function endTransaction(transaction: object): void {
  ended.add(transaction)
}

/**
 * Work may go on after its transaction was lost, and a library may give its next statement to another connection, outside any
 * transaction: postgres.js does.
 *
 * @throws TaskError TRANSACTION_CLOSED
 */
export function checkOpen(transaction: object): void {
  if (ended.has(transaction)) throw new TaskError('TRANSACTION_CLOSED', 'This transaction has ended, or its connection was lost')
}
