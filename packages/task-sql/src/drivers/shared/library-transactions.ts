import { setTimeout as nextTurn } from 'node:timers/promises'
import { abortOf, isTaskError } from '@taskstream/task-api'
import type { TaskError, TransactionOptions, TransactionSource } from '@taskstream/task-api'
import { asWork, untilAtRest, untilSettled } from '../../core/under-way.ts'
import { endTransaction } from './ended-transactions.ts'
import { answered } from './answered.ts'
import { errorOrigin } from './error-origin.ts'

/**
 * Makes a transaction source from a library that begins and ends a transaction in one call. An error of `work` is thrown unchanged, even if the
 * rollback fails too; only the library's own errors are classified. After the end of a transaction, `work` can run no more statements in it.
 *
 * @param named classifies an error of the driver, even if the library has wrapped the error
 * @param ask runs a statement that every live connection answers. Needed if the library does not report that a rollback failed
 * @param giveUpOnLoss whether the library ends a transaction by itself when its connection closes, and must not be told to end it too
 * @param commit commits before the library does, whose own commit cannot be trusted
 */
export function libraryTransactions<Transaction extends object>(
  transact: (work: (transaction: Transaction) => Promise<void>) => Promise<unknown>,
  named: (error: unknown) => TaskError | undefined,
  connections: () => number | undefined,
  ask?: (transaction: Transaction) => PromiseLike<unknown>,
  giveUpOnLoss = false,
  commit?: (transaction: Transaction) => Promise<void>,
): TransactionSource<Transaction> {
  const origin = errorOrigin(named)
  const transactions = async <Result>(
    work: (transaction: Transaction) => Result | Promise<Result>,
    options?: TransactionOptions,
  ) => {
    const abort = abortOf(options)
    let result: Result
    let begun: Transaction | undefined
    let thrown: { readonly error: unknown } | undefined
    let over = false
    const loss = Promise.withResolvers<never>()
    // We cannot close the library's connection, so only further statements are refused.
    const giveUp = (): void => {
      if (begun) endTransaction(begun)
    }
    const forget = abort?.onAbort(giveUp)
    try {
      abort?.throwIfAborted()
      const transacted = transact(async (transaction) => {
        begun = transaction
        abort?.throwIfAborted()
        try {
          result = await untilSettled(transaction, work)
          abort?.throwIfAborted()
          // What is over has lost its connection, on which another transaction may have begun.
          if (commit && !over) await commit(transaction)
        } catch (error) {
          thrown = { error }
          await answered(untilAtRest(transaction, error)).catch(giveUp)
          // The same event may tell `work` and the library that the connection was lost: the library must react first. This is a timer, as
          // postgres.js never sends what is written by `setImmediate` just before the connection closes, and can then never use it again.
          await nextTurn()
          if (!over && ask && isLoss(await answered(Promise.resolve(ask(transaction))).catch((why: unknown) => why))) {
            origin.lost(error)
            over = giveUpOnLoss
            if (giveUpOnLoss) loss.reject(error)
          }
        }
        // If this callback ended now, postgres.js would send a commit or rollback to a closed connection, or into its next transaction.
        if (over) await new Promise(() => {})
        if (thrown) throw thrown.error
      })
      await Promise.race([transacted, loss.promise])
      // Knex takes a rejection without an error for success, and rolls back.
      if (thrown) throw thrown.error
    } catch (error) {
      if (thrown && thrown.error !== error && isLoss(error)) origin.lost(thrown.error)
      throw thrown ? thrown.error : (named(error) ?? error)
    } finally {
      over = true
      forget?.()
      if (begun) endTransaction(begun)
    }
    return result! as Result
  }
  const isLoss = (error: unknown): boolean => isTaskError(named(error) ?? error, 'DATABASE_UNAVAILABLE')
  return Object.defineProperty(Object.assign(transactions, { classify: origin.classify, within: asWork }), 'connections', {
    get: connections,
  })
}
