import { checkInstant, checkInteger, invalid } from '@taskstream/task-api'
import { timerLimits } from './timer.ts'

/** The end of the year 2199 in UTC, in milliseconds. Only calendar events in zones behind UTC elapse later, until 2199 ends there. */
export const lastElapse: number = Date.UTC(timerLimits.lastYear + 1, 0, 1) - 1

/** The greatest instant that JavaScript has, in milliseconds. */
const lastInstant = 8.64e15

/** @throws TaskError ARGUMENT_INVALID unless `after` is a whole number of milliseconds from 0 to 8.64e15. */
export function checkAfter(after: unknown): asserts after is number {
  checkInteger('after', after, 0, lastInstant)
}

/** @throws TaskError ARGUMENT_INVALID unless `instant` is a `Date` in the years 1970 to 2199. */
export function checkElapse(argument: string, instant: unknown): asserts instant is Date {
  checkInstant(argument, instant)
  if (instant.getTime() < 0 || instant.getTime() > lastElapse)
    throw invalid(argument, instant.toISOString(), `must be in the years ${timerLimits.firstYear} to ${timerLimits.lastYear}`)
}
