/** A clock that knows when its next timer rings: time passes from one to the next, and what each begins is done before the next. */
import { testClock } from '@taskstream/task-testing'
import type { TestClock } from '@taskstream/task-testing'

export interface NodeClock extends TestClock {
  /** Milliseconds until a timer rings. */
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
