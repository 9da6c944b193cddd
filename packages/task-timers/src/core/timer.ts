/**
 * When something is to happen, again and again or once: a value without a state. It is kept as its text, and `parseTimer` reads that
 * back. What belongs to one who uses it, such as a first and a last instant, is no part of it.
 */
export interface Timer {
  /** What it is kept as: `parseTimer` reads it. At most `timerLimits.expressionLength` characters. */
  readonly expression: string
  /** The zone whose clocks it goes by. `UTC` where nothing else is said. */
  readonly zone: string
  /**
   * The first instant after `after` at which it elapses; undefined: never again. Both in whole milliseconds since 1970-01-01T00:00Z.
   * Where clocks go back, what follows depends on `after` being in the first or in the second pass of the repeated hour: ask for what
   * follows the last elapse, and not for what follows now, and nothing elapses in both.
   *
   * @throws TaskError ARGUMENT_INVALID unless `after` is a whole number from 0 to 8.64e15
   */
  next(after: number): number | undefined
  /**
   * The same timer by the clocks of another zone. Only what goes by clocks has it: intervals do not.
   *
   * @throws TaskError ARGUMENT_INVALID if there is no such zone
   */
  inZone?(zone: string): Timer
}

/** The greatest values timers take. */
export const timerLimits = {
  /** In UTF-16 code units, the unit of `string.length`. */
  expressionLength: 1_000,
  /** Values in one list of a calendar event: systemd refuses more. */
  listLength: 241,
  firstYear: 1970,
  lastYear: 2199,
} as const
