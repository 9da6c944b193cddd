import { systemClock } from '@taskstream/task-processor'
import type { Clock } from '@taskstream/task-processor'

/** The time of jobs: what they wait by, and the time of day that their timers are about. */
export interface JobClock extends Clock {
  /** The wall clock. It may be set, forward and back. */
  now(): Date
}

export const systemJobClock: JobClock = { ...systemClock, now: () => new Date() }
