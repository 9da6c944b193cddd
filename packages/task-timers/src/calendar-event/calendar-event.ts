import { checkInteger, invalid } from '@taskstream/task-api'
import { checkAfter } from '../core/instant.ts'
import { Misreading, unreadable } from '../core/timer-error.ts'
import type { Timer } from '../core/timer.ts'
import { checkZone, zoneOf } from '../zones/zone.ts'
import { nextOf } from './next.ts'
import { format, normalize } from './normalize.ts'
import { parse } from './parse.ts'
import { suggest } from './suggest.ts'

/** A timer in systemd's grammar of calendar events. */
export interface CalendarEvent extends Timer {
  /** The same event in systemd's normalised form, which is written in full: two expressions with the same one are the same event. */
  readonly normalized: string
  /**
   * As `next`, in microseconds: an event may elapse several times in a millisecond, and `next` gives such ones once, as the first whole
   * millisecond that is not before them.
   *
   * @throws TaskError ARGUMENT_INVALID unless `after` is a whole number from 0 to 2^53 - 1
   */
  nextMicros(after: number): number | undefined
  inZone(zone: string): CalendarEvent
}

/**
 * Reads a calendar event: `[weekdays] [date] [time] [zone]`, as systemd does. Without a zone it is of UTC.
 *
 * @throws TaskError TIMER_INVALID when it is none: the message points at what is wrong, and says what may have been meant
 * @example
 * calendar('Mon..Fri 09:00 Europe/Oslo').next(Date.now())
 */
export function calendar(expression: string): CalendarEvent {
  if (typeof expression !== 'string') throw invalid('expression', expression, 'must be a string')
  try {
    return open(expression)
  } catch (error) {
    if (error instanceof Misreading) throw unreadable(expression, error, suggest(expression))
    throw error
  }
}

function open(expression: string): CalendarEvent {
  const fields = normalize(parse(expression))
  const zone = zoneOf(fields.zone ?? 'UTC')
  const nextMicros = nextOf(fields, zone)
  return Object.freeze<CalendarEvent>({
    expression,
    normalized: format(fields),
    zone: zone.name,
    next(after) {
      checkAfter(after)
      // A number of microseconds is exact for as long as calendar events elapse.
      const micros = nextMicros(after * 1_000)
      return micros === undefined ? undefined : Math.ceil(micros / 1_000)
    },
    nextMicros(after) {
      checkInteger('after', after, 0, Number.MAX_SAFE_INTEGER)
      return nextMicros(after)
    },
    inZone(name) {
      checkZone(name)
      return calendar(format({ ...fields, zone: name }))
    },
  })
}
