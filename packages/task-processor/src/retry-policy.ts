import { checkDuration, checkInteger, invalid, taskLimits } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'

/** After how many milliseconds a task whose handler threw is tried again; undefined: it fails. */
export type RetryPolicy = (task: HeldTask, error: unknown) => number | undefined

export interface ExponentialOptions {
  /** How often a task is tried in all, 1 to 32767. */
  readonly tries: number
  /** The pause after the first try, in milliseconds. */
  readonly firstMs: number
  /** What each pause is multiplied with for the next, 1 to 100. Default 2. */
  readonly factor?: number
  /** No pause is longer. Default one hour. */
  readonly maxMs?: number
  /** The share of a pause that is left to chance, 0 to 1, so that tasks which failed together do not come back together. Default 0.2. */
  readonly jitter?: number
}

/**
 * Pauses that grow: 5 s, 10 s, 20 s …
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * node.process('invoices', { handler, retry: exponential({ tries: 5, firstMs: 5_000 }) })
 */
export function exponential(options: ExponentialOptions): RetryPolicy {
  const { tries, firstMs, factor = 2, maxMs = 3_600_000, jitter = 0.2 } = options
  checkInteger('tries', tries, 1, taskLimits.tries)
  checkDuration('firstMs', firstMs)
  checkDuration('maxMs', maxMs)
  if (!(factor >= 1 && factor <= 100)) throw invalid('factor', factor, 'must be from 1 to 100')
  if (!(jitter >= 0 && jitter <= 1)) throw invalid('jitter', jitter, 'must be from 0 to 1')
  return (task) => (task.tries >= tries ? undefined : Math.round(pauseMs(task.tries, firstMs, factor, maxMs, jitter)))
}

/** The pause after the `count`th time, counted from 1. */
export function pauseMs(count: number, firstMs: number, factor: number, maxMs: number, jitter: number): number {
  const pause = Math.min(maxMs, firstMs * factor ** (count - 1))
  return pause * (1 - jitter * Math.random())
}
