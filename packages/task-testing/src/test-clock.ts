import { checkDuration, checkInstant } from '@taskstream/task-api'
import type { Clock } from '@taskstream/task-processor'

/** A clock that stands still until it is told to move: for a repository (`now`) and for a node (all of it). */
export interface TestClock extends Clock {
  /** The instant it shows. Needs no `this`, so that it can be handed to the code under test. */
  now(): Date
  /**
   * Moves on by so many milliseconds, 0 to 100 years. What waits for a moment on the way is called back then, in order; what that does
   * asynchronously goes on afterwards: a node whose lease is shorter than the step loses it, as its heartbeat has not come through.
   *
   * @throws TaskError ARGUMENT_INVALID
   */
  advance(ms: number): void
  /** Shows this instant from now on, later or earlier; nobody is called back. @throws TaskError ARGUMENT_INVALID */
  set(instant: Date): void
}

/**
 * A clock for a test.
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
  /** The first to wait for the earliest moment. */
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
      pass(endMs - monotonicMs)
    },
    set: (instant) => {
      checkInstant('instant', instant)
      epochMs = instant.getTime()
    },
  }
}
