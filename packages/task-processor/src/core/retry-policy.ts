import { checkDuration, checkInteger, checkNames, invalid, optionNames, taskLimits } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'

/** The field of a failed task by which retry policies decide. */
export interface Tried {
  /** How often the task was tried, this time included. */
  readonly tries: number
}

/** Returns after how many milliseconds a task is tried again whose handler threw, or undefined if the task fails. */
export type RetryPolicy<Failed extends Tried = HeldTask> = (failed: Failed, error: unknown) => number | undefined

interface Jitter {
  /** The random share of a pause, 0 to 1, so that tasks that failed together do not come back together. Default 0.2. */
  readonly jitter?: number
}

export interface FixedOptions extends Jitter {
  /** How often a task is tried in all, 1 to 32767. */
  readonly tries: number
  /** The length of each pause, in milliseconds. */
  readonly afterMs: number
}

export interface LinearOptions extends Jitter {
  /** How often a task is tried in all, 1 to 32767. */
  readonly tries: number
  /** The pause after the first try, in milliseconds. */
  readonly firstMs: number
  /** By how much each pause is longer than the pause before, in milliseconds. Default: `firstMs`. */
  readonly stepMs?: number
  /** The longest pause, in milliseconds: at least `firstMs`. Default: one hour. */
  readonly maxMs?: number
}

export interface ExponentialOptions extends Jitter {
  /** How often a task is tried in all, 1 to 32767. */
  readonly tries: number
  /** The pause after the first try, in milliseconds. */
  readonly firstMs: number
  /** The factor from one pause to the next, 1 to 100. Default 2. */
  readonly factor?: number
  /** The longest pause, in milliseconds: at least `firstMs`. Default: one hour. */
  readonly maxMs?: number
}

const fixedNames = optionNames<FixedOptions>('fixed', { tries: true, afterMs: true, jitter: true })
const linearNames = optionNames<LinearOptions>('linear', { tries: true, firstMs: true, stepMs: true, maxMs: true, jitter: true })
const exponentialNames = optionNames<ExponentialOptions>('exponential', {
  tries: true,
  firstMs: true,
  factor: true,
  maxMs: true,
  jitter: true,
})

/** A policy that never retries: a task whose handler throws fails at once, whatever tries are left. */
export const never: RetryPolicy<Tried> = () => undefined

/**
 * Makes a policy with the same pause each time.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * retry: fixed({ tries: 3, afterMs: 60_000 })
 */
export function fixed(options: FixedOptions): RetryPolicy<Tried> {
  checkNames(fixedNames, options)
  const { tries, afterMs, jitter } = options
  checkDuration('afterMs', afterMs)
  return policy(tries, jitter, () => afterMs)
}

/**
 * Makes a policy with pauses that grow by the same amount: 5 s, 10 s, 15 s …
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * retry: linear({ tries: 10, firstMs: 5_000, maxMs: 30_000 })
 */
export function linear(options: LinearOptions): RetryPolicy<Tried> {
  checkNames(linearNames, options)
  const { tries, firstMs, stepMs = firstMs, maxMs = 3_600_000, jitter } = options
  checkDuration('firstMs', firstMs)
  checkDuration('stepMs', stepMs)
  checkMost(firstMs, maxMs)
  return policy(tries, jitter, (count) => Math.min(maxMs, firstMs + stepMs * (count - 1)))
}

/**
 * Makes a policy with pauses that grow by a factor: 5 s, 10 s, 20 s …
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * retry: exponential({ tries: 5, firstMs: 5_000 })
 */
export function exponential(options: ExponentialOptions): RetryPolicy<Tried> {
  checkNames(exponentialNames, options)
  const { tries, firstMs, factor = 2, maxMs = 3_600_000, jitter } = options
  checkDuration('firstMs', firstMs)
  checkMost(firstMs, maxMs)
  if (!(factor >= 1 && factor <= 100)) throw invalid('factor', factor, 'must be from 1 to 100')
  return policy(tries, jitter, (count) => pauseMs(count, firstMs, factor, maxMs, 0))
}

/** A class of errors, and the policy for them. */
export type ErrorRule<Failed extends Tried = HeldTask> = readonly [
  error: abstract new (...args: never[]) => unknown,
  policy: RetryPolicy<Failed>,
]

/**
 * Makes a policy from rules for classes of errors. A rule applies if the error, or one of its causes, is an instance of the class. The first such rule
 * decides.
 *
 * @param otherwise the policy for all other errors. Default: `never`
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * retry: byError([[RateLimited, fixed({ tries: 100, afterMs: 60_000 })], [TypeError, never]], exponential({ tries: 5, firstMs: 5_000 }))
 */
export function byError<Failed extends Tried = Tried>(
  rules: readonly ErrorRule<Failed>[],
  otherwise: RetryPolicy<Failed> = never,
): RetryPolicy<Failed> {
  for (const [error, rule] of rules) {
    if (typeof error !== 'function') throw invalid('error', error, 'must be a class of errors')
    if (typeof rule !== 'function') throw invalid('policy', rule, 'must be a retry policy')
  }
  return (failed, error) => {
    const causes = causesOf(error)
    const rule = rules.find(([type]) => causes.some((cause) => cause instanceof type))
    return (rule?.[1] ?? otherwise)(failed, error)
  }
}

function checkMost(firstMs: number, maxMs: number): void {
  checkDuration('maxMs', maxMs)
  if (firstMs > maxMs) throw invalid('firstMs', firstMs, `must not be above maxMs, which is ${maxMs}`)
}

/** Computes the pause after the `count`th failure, counted from 1, in milliseconds. */
export function pauseMs(count: number, firstMs: number, factor: number, maxMs: number, jitter: number): number {
  // Zero times infinity is not a number.
  const pause = firstMs === 0 ? 0 : Math.min(maxMs, firstMs * factor ** (count - 1))
  return pause * (1 - jitter * Math.random())
}

function policy(tries: number, jitter = 0.2, pauseAfter: (count: number) => number): RetryPolicy<Tried> {
  checkInteger('tries', tries, 1, taskLimits.tries)
  if (!(jitter >= 0 && jitter <= 1)) throw invalid('jitter', jitter, 'must be from 0 to 1')
  return (failed) => (failed.tries >= tries ? undefined : Math.round(pauseAfter(failed.tries) * (1 - jitter * Math.random())))
}

/** Lists an error and its causes. A chain of causes may be a cycle. */
function causesOf(error: unknown): unknown[] {
  const causes: unknown[] = []
  for (
    let cause = error;
    cause !== undefined && !causes.includes(cause);
    cause = cause instanceof Error ? cause.cause : undefined
  )
    causes.push(cause)
  return causes
}
