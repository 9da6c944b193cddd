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
  /** The event in systemd's normalised form, which is written in full. Two expressions with the same normalised form are the same event. */
  readonly normalized: string
  /**
   * The same as `next`, in microseconds. An event may elapse several times within a millisecond; `next` returns these elapses once, rounded up to a
   * whole millisecond.
   *
   * @throws TaskError ARGUMENT_INVALID unless `after` is a whole number from 0 to 2^53 - 1
   */
  nextMicros(after: number): number | undefined
  inZone(zone: string): CalendarEvent
}

/**
 * Reads a calendar event, `[weekdays] [date] [time] [zone]`, as systemd does. The default zone is UTC.
 *
 * @throws TaskError TIMER_INVALID if the expression cannot be read: the message points at the fault, and may suggest another expression
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
      // A JavaScript number holds microseconds exactly up to the last elapse of any calendar event.
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
