import { checkDuration, checkGiven, checkInteger, invalid, optionNames, taskLimits } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'

/** The field of a failed task by which retry policies decide. */
export interface Tried {
  /** How often the task was tried, this time included. */
  readonly tries: number
}

/**
 * Returns after how many milliseconds a task is tried again whose handler threw, or undefined if the task fails. A policy may throw a TaskDecisionError,
 * whose decision then counts for this task of the batch.
 *
 * `draw` is the chance by which jitter chooses, from 0 to below 1. The tasks of a batch that failed by one throw have the same, so that they come back as
 * a batch. Default: another one for each call.
 */
export type RetryPolicy<Failed extends Tried = HeldTask> = (failed: Failed, error: unknown, draw?: number) => number | undefined

/**
 * The chance in a pause, so that batches that failed together do not come back together. A number from 0 to 1 is the share by which a pause may be
 * shortened. Two numbers from 0 to 10 are the least and the greatest factor of a pause: `0.2` is `[0.8, 1]`.
 */
export type Jitter = number | readonly [from: number, to: number]

interface Jittered {
  /** The chance in each pause. Factors above 1 make a pause longer than was said, `maxMs` included. Default 0.2. */
  readonly jitter?: Jitter
}

export interface FixedOptions extends Jittered {
  /** How often a task is tried in all, 1 to 32767. */
  readonly tries: number
  /** The length of each pause, in milliseconds. */
  readonly afterMs: number
}

export interface LinearOptions extends Jittered {
  /** How often a task is tried in all, 1 to 32767. */
  readonly tries: number
  /** The pause after the first try, in milliseconds. */
  readonly firstMs: number
  /** By how much each pause is longer than the pause before, in milliseconds. Default: `firstMs`. */
  readonly stepMs?: number
  /** The longest pause, in milliseconds: at least `firstMs`. Default: one hour. */
  readonly maxMs?: number
}

export interface ExponentialOptions extends Jittered {
  /** How often a task is tried in all, 1 to 32767. */
  readonly tries: number
  /** The pause after the first try, in milliseconds. */
  readonly firstMs: number
  /** The factor from one pause to the next, 1 to 100. Default 2. */
  readonly factor?: number
  /** The longest pause, in milliseconds: at least `firstMs`. Default: one hour. */
  readonly maxMs?: number
}

export interface StepsOptions extends Jittered {
  /** How often a task is tried in all, 1 to 32767. */
  readonly tries: number
  /** The pause after the first try, in milliseconds. */
  readonly minMs: number
  /** The longest pause, in milliseconds: at least `minMs`. Each further pause is as long. */
  readonly maxMs: number
  /** In how many equal steps the pauses grow from `minMs` to `maxMs`, 1 to 32767. */
  readonly steps: number
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

const stepsNames = optionNames<StepsOptions>('steps', { tries: true, minMs: true, maxMs: true, steps: true, jitter: true })

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
  checkGiven(fixedNames, options)
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
  checkGiven(linearNames, options)
  const { tries, firstMs, stepMs = firstMs, maxMs = 3_600_000, jitter } = options
  checkDuration('firstMs', firstMs)
  checkDuration('stepMs', stepMs)
  checkMost('firstMs', firstMs, maxMs)
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
  checkGiven(exponentialNames, options)
  const { tries, firstMs, factor = 2, maxMs = 3_600_000, jitter } = options
  checkDuration('firstMs', firstMs)
  checkMost('firstMs', firstMs, maxMs)
  checkNumber('factor', factor, 1, 100)
  return policy(tries, jitter, (count) => pauseMs(count, firstMs, factor, maxMs, 0))
}

/**
 * Makes a policy with pauses that grow from `minMs` to `maxMs` in equal steps, and stay there: a table of 1 min, 2 min, 3 min … 10 min.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * retry: steps({ tries: 20, minMs: 60_000, maxMs: 600_000, steps: 9, jitter: [0.9, 1.9] })
 */
export function steps(options: StepsOptions): RetryPolicy<Tried> {
  checkGiven(stepsNames, options)
  const { tries, minMs, maxMs, steps: count, jitter } = options
  checkDuration('minMs', minMs)
  checkMost('minMs', minMs, maxMs)
  checkInteger('steps', count, 1, taskLimits.tries)
  return policy(tries, jitter, (failures) => minMs + (Math.min(failures - 1, count) * (maxMs - minMs)) / count)
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
  if (!Array.isArray(rules)) throw invalid('rules', rules, 'must be a list of [class of errors, policy]')
  for (const [index, rule] of (rules as readonly ErrorRule<Failed>[]).entries()) {
    if (!Array.isArray(rule)) throw invalid(`rules[${index}]`, rule, 'must be [class of errors, policy]')
    if (!isClass(rule[0])) throw invalid(`rules[${index}][0]`, rule[0], 'must be a class of errors')
    if (typeof rule[1] !== 'function')
      throw invalid(`rules[${index}][1]`, rule[1], 'must be a policy, such as never or exponential({ … })')
  }
  if (typeof otherwise !== 'function')
    throw invalid('otherwise', otherwise, 'must be a policy, such as never or exponential({ … })')
  return (failed, error, draw) => {
    const causes = causesOf(error)
    const rule = rules.find(([type]) => causes.some((cause) => cause instanceof type))
    return (rule?.[1] ?? otherwise)(failed, error, draw)
  }
}

/** Whether errors can be instances of a value, which they cannot be of an arrow function. */
function isClass(value: unknown): boolean {
  try {
    return typeof value === 'function' && typeof (Error.prototype instanceof value) === 'boolean'
  } catch {
    return false
  }
}

function checkMost(first: 'firstMs' | 'minMs', pause: number, maxMs: number): void {
  checkDuration('maxMs', maxMs)
  if (pause > maxMs) throw invalid(first, pause, `must not be above maxMs, which is ${maxMs}`)
}

function checkNumber(argument: string, value: unknown, minimum: number, maximum: number): asserts value is number {
  // Comparisons would take a text such as '2' for a number.
  if (!(typeof value === 'number' && value >= minimum && value <= maximum))
    throw invalid(argument, value, `must be from ${minimum} to ${maximum}`)
}

/** The factors between which each pause is chosen. @throws TaskError ARGUMENT_INVALID */
function factorsOf(jitter: Jitter): readonly [from: number, to: number] {
  if (!Array.isArray(jitter)) {
    checkNumber('jitter', jitter, 0, 1)
    return [1 - (jitter as number), 1]
  }
  const [from, to] = jitter as readonly [number, number]
  if (jitter.length !== 2) throw invalid('jitter', jitter, 'must have two factors, as [0.9, 1.9]')
  checkNumber('jitter[0]', from, 0, 10)
  checkNumber('jitter[1]', to, 0, 10)
  if (from > to) throw invalid('jitter[0]', from, `must not be above jitter[1], which is ${to}`)
  return [from, to]
}

/** Computes the pause after the `count`th failure, counted from 1, in milliseconds. */
export function pauseMs(count: number, firstMs: number, factor: number, maxMs: number, jitter: number): number {
  // Zero times infinity is not a number.
  const pause = firstMs === 0 ? 0 : Math.min(maxMs, firstMs * factor ** (count - 1))
  return pause * (1 - jitter * Math.random())
}

function policy(tries: number, jitter: Jitter = 0.2, pauseAfter: (count: number) => number): RetryPolicy<Tried> {
  checkInteger('tries', tries, 1, taskLimits.tries)
  const [from, to] = factorsOf(jitter)
  return (failed, _error, draw = Math.random()) => {
    if (failed.tries >= tries) return undefined
    const pause = pauseAfter(failed.tries) * (to - (to - from) * draw)
    return Math.min(taskLimits.durationMs, Math.round(pause))
  }
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
