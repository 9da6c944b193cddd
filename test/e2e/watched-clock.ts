import { testClock } from '@taskstream/task-testing'
import type { TestClock } from '@taskstream/task-testing'

/** A clock that the test moves, and that has written down for how long it was asked to wait each time. */
export interface WatchedClock extends TestClock {
  readonly pauses: readonly number[]
}

export function watchedClock(start: Date = new Date()): WatchedClock {
  const clock = testClock(start)
  const pauses: number[] = []
  return { ...clock, pauses, after: (ms, callback) => (pauses.push(ms), clock.after(ms, callback)) }
}
