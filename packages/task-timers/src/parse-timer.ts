import { invalid } from '@taskstream/task-api'
import { calendar } from './calendar-event/calendar-event.ts'
import { cronPrefix, readCron } from './cron/cron.ts'
import { everyPrefix, readEvery } from './every.ts'
import type { Timer } from './core/timer.ts'

/**
 * Reads a timer from its expression: `cron:…`, `every:…`, or a calendar event without a prefix.
 *
 * @throws TaskError TIMER_INVALID if the expression cannot be read: the message points at the fault, and may suggest another expression
 * @example
 * parseTimer('Mon..Fri 09:00 Europe/Oslo')
 * parseTimer('cron:0 9 * * MON-FRI Europe/Oslo')
 * parseTimer('every:PT10M')
 * parseTimer('@1800000000')
 */
export function parseTimer(expression: string): Timer {
  if (typeof expression !== 'string') throw invalid('expression', expression, 'must be a string')
  if (expression.startsWith(cronPrefix)) return readCron(expression)
  if (expression.startsWith(everyPrefix)) return readEvery(expression)
  return calendar(expression)
}
