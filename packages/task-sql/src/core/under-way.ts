import { setTimeout as nextTurn } from 'node:timers/promises'
import { isTaskError, TaskError } from '@taskstream/task-api'

/** The verbs of a transaction that have not ended, on an asynchronous adapter. */
interface UnderWay {
  readonly results: Set<Promise<unknown>>
  /** Resolves when the last of them has ended. */
  last: Promise<void> | undefined
  /** Whether the work of the transaction has failed, so that it is going to be rolled back. */
  isOver: boolean
}

const underWay = new WeakMap<object, UnderWay>()

/**
 * Runs a verb after those of its transaction that were called before. Verbs of one transaction follow each other, also if they are called side by side, as by
 * `Promise.all`: each relies on what its own statements have read and locked before, and their statements must not mix.
 *
 * @throws TaskError TRANSACTION_CLOSED if the work of the transaction failed meanwhile
 */
export function inTurn<Result>(transaction: object, run: () => Promise<Result>): Promise<Result> {
  let all = underWay.get(transaction)
  if (!all) underWay.set(transaction, (all = { results: new Set(), last: undefined, isOver: false }))
  const { results, last } = all
  const ended = Promise.withResolvers<void>()
  // Nothing of ours handles its rejection: Node.js tells of one that nobody awaits.
  const result: Promise<Result> = turn(all, last, run).finally(() => {
    results.delete(result)
    if (results.size === 0) underWay.delete(transaction)
    ended.resolve()
  })
  results.add(result)
  all.last = ended.promise
  return result
}

async function turn<Result>(all: UnderWay, last: Promise<void> | undefined, run: () => Promise<Result>): Promise<Result> {
  if (last) {
    await last
    if (all.isOver) throw closed()
  }
  return await run()
}

/**
 * Does the work of a transaction, and waits for the verbs that it has called and not awaited. Otherwise they could run after the commit or the rollback,
 * on a connection that is somebody else's by then.
 *
 * @throws the error of the work, or else of such a verb
 */
export async function untilSettled<Transaction, Result>(
  transaction: Transaction,
  work: (transaction: Transaction) => Result | Promise<Result>,
): Promise<Result> {
  const result = await work(transaction)
  for (let all; (all = underWay.get(transaction as object)); await nextTurn()) await Promise.all(all.results)
  return result
}

/** Waits for the verbs that are under way in a transaction whose work has failed, and refuses those that wait for their turn. Never rejects. */
export async function untilAtRest(transaction: unknown, error: unknown): Promise<void> {
  // Abandoned work goes on, and its connection is closed.
  if (isTaskError(error, 'TRANSACTION_ABANDONED')) return
  for (let all; (all = underWay.get(transaction as object)); await nextTurn()) {
    all.isOver = true
    await Promise.allSettled(all.results)
  }
}

function closed(): TaskError {
  return new TaskError('TRANSACTION_CLOSED', 'The work of this transaction has failed, so it is rolled back without this call')
}
