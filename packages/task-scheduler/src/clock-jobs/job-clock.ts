import { systemClock } from '@taskstream/task-processor'
import type { Clock } from '@taskstream/task-processor'

/** The clock of clock jobs: a monotonic clock to wait by, and the wall clock for their timers. */
export interface WallClock extends Clock {
  /** The time of the wall clock. The clock may be set, forward and back. */
  now(): Date
}

export const systemWallClock: WallClock = { ...systemClock, now: () => new Date() }
