/** Does something in portions, each in a transaction of its own: locks are short, and it ends between two of them. */
import { isPassing } from '@taskstream/task-api'

export interface Portions {
  /** How many tasks are changed at most. */
  readonly total: number
  /** How many tasks a portion has at most. */
  readonly portion: number
  /** How many tasks a second are changed at most. */
  readonly perSecond?: number
  /** How many portions there are at most. Default: as many as it takes. */
  readonly most?: number
  readonly signal?: AbortSignal
  /** Called after each portion, with how many tasks were changed. */
  readonly onProgress?: (done: number) => void
  /** Changes the next tasks, in a transaction of its own. */
  readonly next: (size: number) => Promise<Portion>
}

export interface Portion {
  /** How many tasks were changed. */
  readonly count: number
  /** Whether there may be more. */
  readonly hasMore: boolean
}

export interface Portioned {
  readonly done: number
  /** Whether there is nothing more to do. */
  readonly isOver: boolean
  /** Why it ended before its end, other than by `most`: somebody wanted that, or an error. */
  readonly stopped?: { readonly error?: unknown }
}

/** A portion that lost against another transaction is done again, so often. */
const mostAttempts = 6

export async function inPortions({
  total,
  portion,
  perSecond,
  most = Infinity,
  signal,
  onProgress,
  next,
}: Portions): Promise<Portioned> {
  const begun = performance.now()
  const atOnce = perSecond === undefined ? portion : Math.min(portion, Math.max(1, Math.floor(perSecond)))
  let [done, hasMore] = [0, total > 0]
  try {
    for (let count = 0; hasMore && done < total; count++) {
      if (signal?.aborted) return { done, isOver: false, stopped: {} }
      if (count >= most) return { done, isOver: false }
      const written = await again(() => next(Math.min(atOnce, total - done)), signal)
      done += written.count
      hasMore = written.hasMore
      onProgress?.(done)
      const ahead = perSecond === undefined ? 0 : (done / perSecond) * 1_000 - (performance.now() - begun)
      if (hasMore && done < total && ahead > 0) await pause(ahead, signal)
    }
    return { done, isOver: true }
  } catch (error) {
    return { done, isOver: false, stopped: { error } }
  }
}

/** Two operators, or an operator and a node, may lock the same tasks: the transaction of one of them is rolled back. */
export async function again<Result>(write: () => Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write()
    } catch (error) {
      // The outcome of a commit on a lost connection is unknown, so such a portion is not repeated.
      const isLost = isPassing(error) && (error.code === 'TRANSACTION_CONFLICT' || error.code === 'DATABASE_BUSY')
      if (!isLost || attempt === mostAttempts || signal?.aborted) throw error
      await pause(50 * 2 ** attempt, signal)
    }
  }
}

/** An abort ends the pause, too. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve()
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
}
