import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TransactionSource } from '@taskstream/task-api'
import { endTransaction } from '../adapters/ended-transactions.ts'

/**
 * Transactions that a library begins and ends in a call of its own, told apart from what is done in them: what `work` throws is
 * thrown on as it is, even if the rollback fails too, and only the library's own errors are classified. Work that still goes on
 * when its transaction has ended can do no more in it.
 */
export function libraryTransactions<Transaction extends object>(
  transact: (work: (transaction: Transaction) => Promise<void>) => Promise<unknown>,
  classify: (error: unknown) => unknown,
  connections: () => number | undefined,
): TransactionSource<Transaction> {
  const source = async <Result>(work: (transaction: Transaction) => Result | Promise<Result>) => {
    let result: Result
    let begun: Transaction | undefined
    let thrown: { readonly error: unknown } | undefined
    let over = false
    try {
      await transact(async (transaction) => {
        begun = transaction
        try {
          result = await work(transaction)
        } catch (error) {
          thrown = { error }
          // The same event may tell the work and the library that a connection was lost: the library is to be first.
          await nextTurn()
        }
        // Told of this end, postgres.js would send its commit or rollback to the connection's next transaction.
        if (over) await new Promise(() => {})
        if (thrown) throw thrown.error
      })
    } catch (error) {
      throw thrown ? thrown.error : (classify(error) ?? error)
    } finally {
      over = true
      if (begun) endTransaction(begun)
    }
    return result! as Result
  }
  return Object.defineProperty(source, 'connections', { get: connections })
}
