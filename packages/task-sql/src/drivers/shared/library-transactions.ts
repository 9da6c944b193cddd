import { setImmediate as nextTurn } from 'node:timers/promises'
import { abortOf, isTaskError } from '@taskstream/task-api'
import type { TaskError, TransactionOptions, TransactionSource } from '@taskstream/task-api'
import { endTransaction } from './ended-transactions.ts'
import { answered } from './answered.ts'
import { ownWord } from './own-word.ts'

/**
 * Transactions that a library begins and ends in a call of its own, told apart from what is done in them: what `work` throws is
 * thrown on as it is, even if the rollback fails too, and only the library's own errors are classified. Work that still goes on
 * when its transaction has ended can do no more in it.
 *
 * @param named gives an error of the driver its name, also one that the library has wrapped
 * @param ask runs a statement that any connection answers, where the library does not tell that it could not roll back
 */
export function libraryTransactions<Transaction extends object>(
  transact: (work: (transaction: Transaction) => Promise<void>) => Promise<unknown>,
  named: (error: unknown) => TaskError | undefined,
  connections: () => number | undefined,
  ask?: (transaction: Transaction) => PromiseLike<unknown>,
): TransactionSource<Transaction> {
  const own = ownWord(named)
  const transactions = async <Result>(
    work: (transaction: Transaction) => Result | Promise<Result>,
    options?: TransactionOptions,
  ) => {
    const abort = abortOf(options)
    let result: Result
    let begun: Transaction | undefined
    let thrown: { readonly error: unknown } | undefined
    let over = false
    // The library's connection cannot be closed; but nothing more is done on it.
    const giveUp = (): void => {
      if (begun) endTransaction(begun)
    }
    const forget = abort?.onAbort(giveUp)
    try {
      abort?.throwIfAborted()
      await transact(async (transaction) => {
        begun = transaction
        abort?.throwIfAborted()
        try {
          result = await work(transaction)
        } catch (error) {
          thrown = { error }
          // The same event may tell the work and the library that a connection was lost: the library is to be first.
          await nextTurn()
          if (!over && ask && isLoss(await answered(Promise.resolve(ask(transaction))).catch((why: unknown) => why)))
            own.lost(error)
        }
        // Told of this end, postgres.js would send its commit or rollback to the connection's next transaction.
        if (over) await new Promise(() => {})
        if (thrown) throw thrown.error
      })
    } catch (error) {
      if (thrown && thrown.error !== error && isLoss(error)) own.lost(thrown.error)
      throw thrown ? thrown.error : (named(error) ?? error)
    } finally {
      over = true
      forget?.()
      if (begun) endTransaction(begun)
    }
    return result! as Result
  }
  const isLoss = (error: unknown): boolean => isTaskError(named(error) ?? error, 'DATABASE_UNAVAILABLE')
  return Object.defineProperty(Object.assign(transactions, { classify: own.classify }), 'connections', { get: connections })
}
