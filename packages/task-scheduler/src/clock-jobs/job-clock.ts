import { systemClock } from '@taskstream/task-processor'
import type { Clock } from '@taskstream/task-processor'

/** The time of jobs: what they wait by, and the time of day that their timers are about. */
export interface WallClock extends Clock {
  /** The wall clock. It may be set, forward and back. */
  now(): Date
}

export const systemWallClock: WallClock = { ...systemClock, now: () => new Date() }
