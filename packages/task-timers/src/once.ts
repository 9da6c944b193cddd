import { calendar } from './calendar-event/calendar-event.ts'
import type { CalendarEvent } from './calendar-event/calendar-event.ts'
import { checkElapse } from './core/instant.ts'

/**
 * Makes a timer that elapses at one instant, and never again. It is the calendar event of that date and time in UTC.
 *
 * @param instant an instant in the years 1970 to 2199
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * once(new Date('2027-01-15T08:00:00Z')).expression // 2027-01-15 08:00:00 UTC
 */
export function once(instant: Date): CalendarEvent {
  checkElapse('instant', instant)
  return calendar(
    instant
      .toISOString()
      .replace('T', ' ')
      .replace(/(\.000)?Z$/, ' UTC'),
  )
}
