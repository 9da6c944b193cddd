import { checkInstant, checkInteger, invalid } from '@taskstream/task-api'
import { timerLimits } from './timer.ts'

/** The end of the year 2199 in UTC, in milliseconds: later nothing elapses, but for calendar events where it is not yet over. */
export const lastElapse: number = Date.UTC(timerLimits.lastYear + 1, 0, 1) - 1

/** The greatest instant that JavaScript has, in milliseconds. */
const lastInstant = 8.64e15

/** @throws TaskError ARGUMENT_INVALID unless `after` is whole milliseconds since 1970, and not before. */
export function checkAfter(after: unknown): asserts after is number {
  checkInteger('after', after, 0, lastInstant)
}

/** @throws TaskError ARGUMENT_INVALID unless `instant` is a `Date` of the years in which timers elapse. */
export function checkElapse(argument: string, instant: unknown): asserts instant is Date {
  checkInstant(argument, instant)
  if (instant.getTime() < 0 || instant.getTime() > lastElapse)
    throw invalid(argument, instant.toISOString(), `must be of the years ${timerLimits.firstYear} to ${timerLimits.lastYear}`)
}
