import { checkDuration, checkInstant } from '@taskstream/task-api'

/** A clock that stands still until it is told to move. */
export interface TestClock {
  /** The instant it shows. Needs no `this`, so that it can be handed to the code under test. */
  now(): Date
  /** Moves on by so many milliseconds, 0 to 100 years. @throws TaskError ARGUMENT_INVALID */
  advance(ms: number): void
  /** Shows this instant from now on, later or earlier. @throws TaskError ARGUMENT_INVALID */
  set(instant: Date): void
}

/** @throws TaskError ARGUMENT_INVALID */
export function testClock(start: Date): TestClock {
  checkInstant('now', start)
  let epochMs = start.getTime()
  return {
    now: () => new Date(epochMs),
    advance: (ms) => {
      checkDuration('ms', ms)
      epochMs += ms
    },
    set: (instant) => {
      checkInstant('instant', instant)
      epochMs = instant.getTime()
    },
  }
}
