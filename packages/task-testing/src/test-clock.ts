import { checkDuration, checkInstant } from '@taskstream/task-api'
import type { Clock } from '@taskstream/task-processor'

/** A clock that stands still until it is told to move. A repository uses its `now`, a node uses all of it. */
export interface TestClock extends Clock {
  /** The instant that the clock shows. It needs no `this`, so the method itself can be handed to the code under test. */
  now(): Date
  /**
   * Moves the clock on by 0 ms to 100 years. Callbacks that fall due on the way are called in the order of their time.
   *
   * Asynchronous work of a callback goes on only after the move. So a node whose lease is shorter than the move loses the lease:
   * its heartbeat cannot come in between.
   *
   * @throws TaskError ARGUMENT_INVALID
   */
  advance(ms: number): void
  /** Sets the clock to an instant, earlier or later. No callback is called. @throws TaskError ARGUMENT_INVALID */
  set(instant: Date): void
}

/**
 * Makes a clock for a test, which shows `start` until it is moved.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const clock = testClock(new Date('2026-01-01'))
 * const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPg, clock: clock.now })
 * const node = new TaskNode({ repository: tasks, transactions, clock })
 */
export function testClock(start: Date): TestClock {
  checkInstant('now', start)
  let epochMs = start.getTime()
  let monotonicMs = 0
  const waiting = new Set<{ readonly atMs: number; readonly callback: () => void }>()
  const pass = (ms: number): void => {
    monotonicMs += ms
    epochMs += ms
  }
  /** The earliest callback, and of several at one moment the one that was set first. */
  const next = (beforeMs: number): { readonly atMs: number; readonly callback: () => void } | undefined => {
    const due = [...waiting].filter(({ atMs }) => atMs <= beforeMs)
    return due.reduce<(typeof due)[number] | undefined>(
      (first, one) => (first && first.atMs <= one.atMs ? first : one),
      undefined,
    )
  }
  return {
    now: () => new Date(epochMs),
    monotonicMs: () => monotonicMs,
    after: (ms, callback) => {
      const one = { atMs: monotonicMs + ms, callback }
      waiting.add(one)
      return () => void waiting.delete(one)
    },
    advance: (ms) => {
      checkDuration('ms', ms)
      const endMs = monotonicMs + ms
      for (let one = next(endMs); one; one = next(endMs)) {
        waiting.delete(one)
        pass(Math.max(0, one.atMs - monotonicMs))
        one.callback()
      }
      // A callback may have moved the clock further.
      pass(Math.max(0, endMs - monotonicMs))
    },
    set: (instant) => {
      checkInstant('instant', instant)
      epochMs = instant.getTime()
    },
  }
}
