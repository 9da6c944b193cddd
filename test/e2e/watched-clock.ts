/** A clock for tests that check for how long a node or a scheduler asks to sleep. */
import { testClock } from '@taskstream/task-testing'
import type { TestClock } from '@taskstream/task-testing'

/** A clock that only the test moves. `pauses` lists the milliseconds of each wait that was asked for. */
export interface WatchedClock extends TestClock {
  readonly pauses: readonly number[]
}

export function watchedClock(start: Date = new Date()): WatchedClock {
  const clock = testClock(start)
  const pauses: number[] = []
  return { ...clock, pauses, after: (ms, callback) => (pauses.push(ms), clock.after(ms, callback)) }
}
