import { taskLimits } from '@taskstream/task-api'
import { steps } from '@taskstream/task-processor'
import type { RetryPolicy, StepsOptions } from '@taskstream/task-processor'
import { failure } from './errors.ts'

/** Says how long the pause after a failed try is. */
export interface RetryPolicyProvider {
  /** @param tries how often the task was tried, from 1 @returns whole milliseconds */
  readonly duration: (tries: number) => number
}

const tenMinutes = { minMs: 60_000, maxMs: 600_000, steps: 50, jitter: [0.9, 1.9] } as const

const tables: Readonly<Record<string, Omit<StepsOptions, 'tries'>>> = {
  default: tenMinutes,
  '10m': tenMinutes,
  '1h': { minMs: 600_000, maxMs: 3_600_000, steps: 20, jitter: [0.9, 1.9] },
  '1m': { minMs: 1_000, maxMs: 60_000, steps: 20, jitter: [0.5, 1.5] },
}

/** The names of the retry policies, in their order. */
export function retryPolicyNames(): readonly string[] {
  return Object.keys(tables).toSorted()
}

/**
 * The retry policy of a name: `10m`, `1h`, `1m` or `default`, which is `10m`. Its pauses grow in equal steps to the time that its name says.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * retryPolicyLookup('1m').duration(1) // 500 to 1 500 ms
 */
export function retryPolicyLookup(name: string): RetryPolicyProvider {
  const table = Object.hasOwn(tables, name) ? tables[name] : undefined
  if (!table)
    throw failure('ARGUMENT_INVALID', 'policyUnknown', `${name} (there is ${retryPolicyNames().join(', ')})`, {
      argument: 'retryPolicy',
      value: name,
    })
  const policy = steps({ tries: taskLimits.tries, ...table })
  // The last pause repeats, so that the number of tries is up to the task and its queue.
  return { duration: (tries) => policy({ tries: Math.min(Math.max(1, tries), taskLimits.tries - 1) }, undefined)! }
}

/** The policy by which a stream retries. How often is up to the task. */
export function toRetry({ duration }: RetryPolicyProvider): RetryPolicy {
  return ({ tries }) => Math.min(taskLimits.durationMs, Math.max(0, Math.round(duration(tries))))
}
