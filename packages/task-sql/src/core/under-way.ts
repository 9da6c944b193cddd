import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as nextTurn } from 'node:timers/promises'
import { HeardCalls, isTaskError, TaskError } from '@taskstream/task-api'

/** The work of one transaction. Connections are used again, so a connection does not say whose work calls. */
interface Work {
  readonly transaction: object
  /** The work within which this one has begun, and which was not over then. */
  outer: Work | undefined
  readonly calls: HeardCalls
  /** Whether the work has failed, or is about to be committed with all that it has called. */
  isOver: boolean
}

/** The verbs of a transaction that have not ended, on an asynchronous adapter. */
interface UnderWay {
  /** The end of the last of them. Never rejects. */
  last: Promise<void> | undefined
  /** Whether those that wait for their turn are refused. */
  isOver: boolean
}

const works = new AsyncLocalStorage<Work>()
const current = new WeakMap<object, Work>()
const underWay = new WeakMap<object, UnderWay>()

/**
 * Refuses a call of work whose transaction is over, such as that of a helper that goes on although another one has failed. Its connection may be somebody
 * else's by then.
 *
 * @throws TaskError TRANSACTION_CLOSED
 */
export function checkWork(transaction: object): void {
  if (workOf(transaction)?.isOver) throw closed()
}

/** The work that calls, if it is that of this transaction. A caller who has begun the transaction by himself has none. */
function workOf(transaction: object): Work | undefined {
  let work = works.getStore()
  while (work && work.transaction !== transaction) work = work.outer
  return work
}

/**
 * Runs a verb after those of its transaction that were called before. Verbs of one transaction follow each other, also if they are called side by side, as by
 * `Promise.all`: each relies on what its own statements have read and locked before, and their statements must not mix.
 *
 * @throws TaskError TRANSACTION_CLOSED if the work of the transaction is over, or was when the turn came
 */
export function inTurn<Result>(transaction: object, run: () => Promise<Result>): Promise<Result> {
  const all = underWay.get(transaction) ?? { last: undefined, isOver: false }
  underWay.set(transaction, all)
  const work = workOf(transaction)
  const result = turn(all, work, all.last, run)
  const end = (): void => {
    if (all.last === ended) underWay.delete(transaction)
  }
  const ended: Promise<void> = result.then(end, end)
  all.last = ended
  return work ? work.calls.add(result) : result
}

async function turn<Result>(
  all: UnderWay,
  work: Work | undefined,
  last: Promise<void> | undefined,
  run: () => Promise<Result>,
): Promise<Result> {
  if (last) await last
  if (work?.isOver || (last && all.isOver)) throw closed()
  try {
    return await run()
  } catch (error) {
    // The server may have ended the transaction, and would commit what comes next on its own.
    if (isTaskError(error, 'TRANSACTION_CONFLICT')) all.isOver = true
    throw error
  }
}

/**
 * Does the work of a transaction, and waits for the verbs that it has called and not awaited. Otherwise they could run after the commit or the rollback,
 * on a connection that is somebody else's by then. What the work calls after that is refused.
 *
 * @throws the error of the work, or else of such a verb
 */
export async function untilSettled<Transaction, Result>(
  transaction: Transaction,
  run: (transaction: Transaction) => Result | Promise<Result>,
): Promise<Result> {
  const key = transaction as object
  const work: Work = { transaction: key, outer: openWork(), calls: new HeardCalls(), isOver: false }
  current.set(key, work)
  try {
    const result = await works.run(work, run, transaction)
    if (work.calls.areUnsettled) await work.calls.settled()
    return result
  } finally {
    work.isOver = true
  }
}

/** The work that is under way here. Work that is over is left out, so that a chain of transactions, each begun by the one before, does not grow. */
function openWork(): Work | undefined {
  let found = works.getStore()
  while (found?.isOver) found = found.outer
  for (let each = found; each; each = each.outer) while (each.outer?.isOver) each.outer = each.outer.outer
  return found
}

/** Runs a part of a transaction's work that has begun elsewhere, as a handler's function in a transaction that it shares. */
export function asWork<Result>(transaction: unknown, run: () => Result): Result {
  const work = current.get(transaction as object)
  return work ? works.run(work, run) : run()
}

/** Waits for the verbs that are under way in a transaction whose work has failed, and refuses those that wait for their turn. Never rejects. */
export async function untilAtRest(transaction: unknown, error: unknown): Promise<void> {
  // Abandoned work goes on, and its connection is closed.
  if (isTaskError(error, 'TRANSACTION_ABANDONED')) return
  for (let all; (all = underWay.get(transaction as object)); await nextTurn()) {
    all.isOver = true
    await all.last
  }
}

function closed(): TaskError {
  return new TaskError(
    'TRANSACTION_CLOSED',
    'The work of this transaction is over: it has failed, or has returned before this call. Have it await all that it calls',
  )
}
