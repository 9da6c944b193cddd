import type { RetryPolicy } from '@taskstream/task-processor'
import type { Timer } from '@taskstream/task-timers'

/** One fire of a job: a time at which the job is due. */
export interface ClockJobFire {
  readonly id: string
  /** When the fire was due, by the wall clock. It may have begun later. */
  readonly scheduledFor: Date
  /** The number of this fire among the job's fires, from 1. A retry has the number of its fire. */
  readonly count: number
}

/** The argument of a job's function, for each try. */
export interface ClockJobContext extends ClockJobFire {
  /** The number of this try of the fire, from 1. */
  readonly tries: number
  /**
   * Aborted with the reason SHUTDOWN when the scheduler stops and the grace is over. With a gate it is also aborted with the reason of the gate's signal: then
   * no policy counts, whatever the function throws.
   */
  readonly signal: AbortSignal
}

/** The function of a job. The job fails if the function throws or its promise is rejected. Any other result is ignored. */
export type ClockJobFunction = (context: ClockJobContext) => unknown

/**
 * Is asked before each fire begins. A fire that it does not let begin is passed over: it does not count, and is not logged.
 *
 * @returns a signal for the fire, which aborts when the fire is to end; undefined if the fire is not to begin. If it throws, the fire does not begin either,
 *   and the error is logged
 */
export type ClockJobGate = (fire: ClockJobFire) => AbortSignal | undefined | Promise<AbortSignal | undefined>

/** What becomes of a job that failed: whether the failure is logged, and whether the job is unscheduled. */
export type ClockJobErrorPolicy = (typeof jobErrorPolicies)[number]

export const jobErrorPolicies = ['log-and-terminate', 'log-and-continue', 'terminate', 'continue'] as const

/**
 * What becomes of fires that are late by more than the waiting time. A fire that is less late begins late.
 *
 * - `wait`: every missed fire runs, one after the other, and counts
 * - `ignore`: all missed fires are dropped, and do not count. The job goes on with the next time on its grid
 * - `log-and-ignore`: as `ignore`, and the loss is logged
 */
export type ClockJobLatePolicy = (typeof jobLatePolicies)[number]

export const jobLatePolicies = ['wait', 'ignore', 'log-and-ignore'] as const

export type ClockJobOverlap = (typeof jobOverlaps)[number]

export const jobOverlaps = ['forbid', 'allow'] as const

/** The times of a job: an interval or a timer. Both have a grid, which does not move if a fire is late. */
export type ClockJobTimes =
  | {
      /** The milliseconds between two fires, 1 to a hundred years. The first fire is at `start`, or at once. */
      readonly intervalMs: number
      readonly timer?: never
    }
  | {
      /** The timer of the fires, after now or from `start` on: `calendar`, `cron`, `every`, `once`, or an implementation of your own. */
      readonly timer: Timer
      readonly intervalMs?: never
    }

/** When a job runs, and what becomes of it if it fails, is late or takes long. These are values without functions, so that they can be stored. */
export type ClockJobTrigger = ClockJobTimes & {
  /** No fire is due before this instant, which must not be in the past. */
  readonly start?: Date
  /**
   * No fire is due after this instant, and no retry begins at it or later. A late fire may begin after it. It must be in the future, and not before
   * `start`.
   */
  readonly end?: Date
  /** How many fires the job has: at least 1, or -1 for no limit, which is the default. */
  readonly maxCount?: number
  /** What becomes of the job if it fails. Default `'log-and-terminate'`. */
  readonly onError?: ClockJobErrorPolicy
  /** What becomes of fires that are too late. Default `'wait'`. */
  readonly whenLate?: ClockJobLatePolicy
  /** Whether a fire begins while an earlier one of the job is under way. Default `'forbid'`: the fire waits, and is late. */
  readonly overlap?: ClockJobOverlap
}

/** How often and when a fire that failed is tried again. */
export interface ClockJobRetrying {
  /**
   * The policy for retries, which do not count as fires. Default: no retry. No retry begins once the next time on the job's grid or the job's `end` has
   * come, even after the last fire. If there is no further retry, `onError` decides on the last error.
   */
  readonly retry?: RetryPolicy<ClockJobContext>
}

interface Named {
  /** The name of the job, 1 to 250 characters, unique in the scheduler. Default: a random UUID. */
  readonly id?: string
}

export type ClockJobOptions = ClockJobTrigger & ClockJobRetrying & Named

export interface ClockJobOnceOptions extends ClockJobRetrying, Named {
  /** What becomes of the fire if it is too late. Default `'wait'`. */
  readonly whenLate?: ClockJobLatePolicy
}

/** A snapshot of a job. It does not change with the job. */
export interface ClockJob {
  readonly id: string
  /** How many fires have begun. */
  readonly count: number
  /** When the next fire is due; in the past if it is late. Undefined if no fire is to come, and the last one is under way. */
  readonly next: Date | undefined
  readonly paused: boolean
}
