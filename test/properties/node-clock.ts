/** A clock that knows when its next timer rings. A test stops there, and lets the timer's work end before it moves on. */
import { testClock } from '@taskstream/task-testing'
import type { TestClock } from '@taskstream/task-testing'

export interface NodeClock extends TestClock {
  /** Milliseconds until the next timer rings. Infinity: no timer is set. */
  untilNextMs(): number
}

export function nodeClock(start: Date): NodeClock {
  const clock = testClock(start)
  const rings = new Set<{ readonly atMs: number }>()
  return {
    ...clock,
    after: (ms, callback) => {
      const ring = { atMs: clock.monotonicMs() + ms }
      rings.add(ring)
      const cancel = clock.after(ms, () => {
        rings.delete(ring)
        callback()
      })
      return () => {
        rings.delete(ring)
        cancel()
      }
    },
    untilNextMs: () => Math.max(0, Math.min(...[...rings].map(({ atMs }) => atMs)) - clock.monotonicMs()),
  }
}
