/** Writes many tasks in portions, each in a transaction of its own: locks are short, and Ctrl-C ends between two of them. */
import { isPassing } from '@taskstream/task-api'
import { Progress } from './progress.ts'

export interface Portions {
  /** How many tasks there were in the preview: no more are written. */
  readonly total: number
  /** How many tasks a portion has at most. */
  readonly portion: number
  /** How many tasks a second are written at most. */
  readonly perSecond?: number
  readonly signal: AbortSignal
  /** Writes the next tasks, in a transaction of its own. */
  readonly next: (size: number) => Promise<Portion>
}

export interface Portion {
  /** How many tasks were written. */
  readonly count: number
  /** Whether there may be more. */
  readonly hasMore: boolean
}

export interface Portioned {
  readonly done: number
  /** Why the work ended before its end: somebody wanted that, or an error. */
  readonly stopped?: { readonly error?: unknown }
}

/** A portion that lost against another transaction is written again, so often. */
const mostAttempts = 6

export async function inPortions({ total, portion, perSecond, signal, next }: Portions): Promise<Portioned> {
  const progress = new Progress(total)
  const begun = performance.now()
  const most = perSecond === undefined ? portion : Math.min(portion, Math.max(1, Math.floor(perSecond)))
  let [done, hasMore] = [0, total > 0]
  try {
    while (hasMore && done < total) {
      if (signal.aborted) return { done, stopped: {} }
      const written = await again(() => next(Math.min(most, total - done)), signal)
      done += written.count
      hasMore = written.hasMore
      progress.update(done)
      const ahead = perSecond === undefined ? 0 : (done / perSecond) * 1_000 - (performance.now() - begun)
      if (hasMore && done < total && ahead > 0) await pause(ahead, signal)
    }
    return { done }
  } catch (error) {
    return { done, stopped: { error } }
  } finally {
    progress.end()
  }
}

/** Two operators, or an operator and a node, may lock the same tasks: the transaction of one of them is rolled back. */
async function again<Result>(write: () => Promise<Result>, signal: AbortSignal): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await write()
    } catch (error) {
      // The outcome of a commit on a lost connection is unknown, so such a portion is not repeated.
      const isLost = isPassing(error) && (error.code === 'TRANSACTION_CONFLICT' || error.code === 'DATABASE_BUSY')
      if (!isLost || attempt === mostAttempts || signal.aborted) throw error
      await pause(50 * 2 ** attempt, signal)
    }
  }
}

/** Ctrl-C ends the pause, too. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}
