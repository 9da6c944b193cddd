import type { RetryPolicy } from '@taskstream/task-processor'
import type { Timer } from '@taskstream/task-timers'

/** One time that a job was due. */
export interface ClockJobFire {
  readonly id: string
  /** When it was due, by the wall clock; it may have begun later. */
  readonly scheduledFor: Date
  /** Which of the job's fires it is, from 1. A retry is none. */
  readonly count: number
}

/** What a job is told each time that it runs. */
export interface ClockJobContext extends ClockJobFire {
  /** How often this fire was tried, from 1. */
  readonly tries: number
  /** Aborted, with the reason SHUTDOWN, when the scheduler stops and the grace is over. */
  readonly signal: AbortSignal
}

/** What runs. It failed if it throws, or if the promise that it returns is rejected; what else it returns is not looked at. */
export type ClockJobFunction = (context: ClockJobContext) => unknown

/** What becomes of a job that failed: whether that is logged, and whether the job is unscheduled. */
export type ClockJobErrorPolicy = (typeof jobErrorPolicies)[number]

export const jobErrorPolicies = ['log-and-terminate', 'log-and-continue', 'terminate', 'continue'] as const

/**
 * What becomes of fires that are late by more than the waiting time: `'wait'`: each of them is run, one after the other, and counts;
 * `'ignore'`: all that were missed are dropped, the count stays, and the job goes on with the next on its grid; `'log-and-ignore'`: that,
 * and it is logged. What is less late is simply late.
 */
export type ClockJobLatePolicy = (typeof jobLatePolicies)[number]

export const jobLatePolicies = ['wait', 'ignore', 'log-and-ignore'] as const

export type ClockJobOverlap = (typeof jobOverlaps)[number]

export const jobOverlaps = ['forbid', 'allow'] as const

/** The times of a job: either has a grid that does not move, however late a fire is. */
export type ClockJobTimes =
  | {
      /** A fire at `start`, or at once, and then one after each so many milliseconds: 1 to a hundred years. */
      readonly intervalMs: number
      readonly timer?: never
    }
  | {
      /** A fire whenever it elapses after now, or from `start` on: `calendar`, `cron`, `every`, `once`, or one of your own. */
      readonly timer: Timer
      readonly intervalMs?: never
    }

/** When a job runs, and what if it fails, is late or takes long: values, so that they can be stored. */
export type ClockJobTrigger = ClockJobTimes & {
  /** No fire is due before. Not in the past. */
  readonly start?: Date
  /** No fire is due after, and no retry begins then or later; a fire that is late may. In the future, and not before `start`. */
  readonly end?: Date
  /** How many fires there are in all: at least 1, or -1 for no limit, the default. */
  readonly maxCount?: number
  /** Default `'log-and-terminate'`. */
  readonly onError?: ClockJobErrorPolicy
  /** Default `'wait'`. */
  readonly whenLate?: ClockJobLatePolicy
  /** Whether a fire begins while an earlier one of the same job is still under way. Default `'forbid'`: it is late. */
  readonly overlap?: ClockJobOverlap
}

/** How often and when a fire that failed is tried again. */
export interface ClockJobRetrying {
  /**
   * A retry is no fire, and counts as none. None begins when the job's next fire is due, or would be, after the last one; nor when its `end` has
   * come: then, and when the policy has no further try, `onError` decides on the last error. Default: no retry.
   */
  readonly retry?: RetryPolicy<ClockJobContext>
}

interface Named {
  /** Names the job, 1 to 250 characters; no other job of the scheduler may have it. Default: a random UUID. */
  readonly id?: string
}

export type ClockJobOptions = ClockJobTrigger & ClockJobRetrying & Named

export interface ClockJobOnceOptions extends ClockJobRetrying, Named {
  /** Default `'wait'`. */
  readonly whenLate?: ClockJobLatePolicy
}

/** A job, as it was when it was asked for. */
export interface ClockJob {
  readonly id: string
  /** How many fires have begun. */
  readonly count: number
  /** When the next fire is due, or was; undefined: there is none any more, and the last one is under way. */
  readonly next: Date | undefined
  readonly paused: boolean
}
