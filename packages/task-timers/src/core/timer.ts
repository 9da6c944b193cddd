/**
 * Says when something happens, once or again and again. A timer has no state: it can be stored as its expression, which `parseTimer` reads. It has no
 * first or last instant; those belong to the caller.
 */
export interface Timer {
  /** The timer as text, which `parseTimer` reads. At most `timerLimits.expressionLength` characters. */
  readonly expression: string
  /** The time zone of the timer. Default: `UTC`. */
  readonly zone: string
  /**
   * The first elapse after the instant `after`, or undefined if there is none. Both are whole milliseconds since 1970-01-01T00:00Z.
   *
   * Always pass the last elapse, not the current time. Otherwise, when clocks go back, a time in the repeated hour may elapse in both of its passes.
   *
   * @throws TaskError ARGUMENT_INVALID unless `after` is a whole number from 0 to 8.64e15
   */
  next(after: number): number | undefined
  /**
   * The same timer in another zone. Intervals have no such method, because they do not depend on a zone.
   *
   * @throws TaskError ARGUMENT_INVALID if there is no such zone
   */
  inZone?(zone: string): Timer
}

/** The limits of timers. */
export const timerLimits = {
  /** In UTF-16 code units, the unit of `string.length`. */
  expressionLength: 1_000,
  /** How many values a list of a calendar event may have. systemd refuses more. */
  listLength: 241,
  firstYear: 1970,
  lastYear: 2199,
} as const
