import { AsyncLocalStorage } from 'node:async_hooks'
import { TaskError } from '@taskstream/task-api'
import type { TransactionOptions, TransactionSource } from '@taskstream/task-api'

/** Refuses a transaction inside another of a source with one connection, as each of the two would wait for the other. */
export function onlyConnection<Transaction>(source: TransactionSource<Transaction>): TransactionSource<Transaction> {
  const inside = new AsyncLocalStorage<{ open: boolean }>()
  const transact = async <Result>(
    work: (transaction: Transaction) => Result | Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result> => {
    if (inside.getStore()?.open) throw nested()
    return source(async (transaction) => {
      const state = { open: true }
      try {
        return await inside.run(state, async () => work(transaction))
      } finally {
        state.open = false
      }
    }, options)
  }
  const { classify, within } = source
  return Object.defineProperty(Object.assign(transact, classify && { classify }, within && { within }), 'inside', {
    get: () => inside.getStore()?.open ?? false,
  })
}

/** Makes the error for a transaction inside another. */
export function nested(): TaskError {
  const message = 'A transaction was asked for inside another on the only connection: use the one there is'
  return new TaskError('LIFECYCLE', message, { inside: true })
}
