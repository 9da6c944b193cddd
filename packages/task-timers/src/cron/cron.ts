import { checkOptions } from '@taskstream/task-api'
import { Cron } from 'croner'
import { checkAfter, lastElapse } from '../core/instant.ts'
import { Misreading, unreadable } from '../core/timer-error.ts'
import { timerLimits } from '../core/timer.ts'
import type { Timer } from '../core/timer.ts'
import { zoneName } from '../zones/zone-name.ts'
import { checkZone } from '../zones/zone.ts'

export const cronPrefix = 'cron:'

export interface CronOptions {
  /** The zone whose clocks the pattern goes by. Default `UTC`. */
  readonly zone?: string
}

/**
 * A pattern of cron, as croner reads it: five fields, or six with seconds first, or seven with years last, or `@daily` and the like.
 * When day of the month and weekday are both restricted, either of them is enough, as in cron.
 *
 * Where clocks go forward, a pattern without `*` and steps in its hours, minutes and seconds elapses at the end of the gap for what it has
 * in it; where they go back, only in the first pass. Any other pattern skips the gap, and elapses in both passes. That is Vixie cron's
 * rule; calendar events have another.
 *
 * @throws TaskError TIMER_INVALID or, for a zone that is none, ARGUMENT_INVALID
 * @example
 * cron('0 9 * * MON-FRI', { zone: 'Europe/Oslo' })
 */
export function cron(pattern: string, options: CronOptions = {}): Timer {
  checkOptions('cron', options, { zone: true })
  const { zone } = options
  if (zone !== undefined) checkZone(zone)
  return readCron(`${cronPrefix}${pattern}${zone === undefined ? '' : ` ${zone}`}`)
}

/** Reads `cron:0 9 * * MON-FRI`, and `cron:0 9 * * MON-FRI Europe/Oslo`. */
export function readCron(expression: string): Timer {
  const text = expression.slice(cronPrefix.length)
  const last = text.slice(text.lastIndexOf(' ') + 1)
  const isZone = last !== text && zoneName(last) === last
  const pattern = isZone ? text.slice(0, -last.length - 1) : text
  const timezone = isZone ? last : 'UTC'
  const job = open(expression, pattern, timezone)
  return Object.freeze<Timer>({
    expression,
    zone: timezone,
    next(after) {
      checkAfter(after)
      const next = after > lastElapse ? undefined : job.nextRun(new Date(after))?.getTime()
      return next === undefined || next > lastElapse ? undefined : next
    },
    inZone: (zone) => cron(pattern, { zone }),
  })
}

function open(expression: string, pattern: string, timezone: string): Cron {
  const at = cronPrefix.length
  if (expression.length > timerLimits.expressionLength)
    throw unreadable(
      expression,
      new Misreading(timerLimits.expressionLength, `it has at most ${timerLimits.expressionLength} characters`),
    )
  // croner takes a pattern with a colon for an instant.
  if (pattern.includes(':'))
    throw unreadable(
      expression,
      new Misreading(at + pattern.indexOf(':'), 'a cron pattern has no colon, and a calendar event no prefix'),
    )
  try {
    return new Cron(pattern, { timezone, fixedTimeRule: 'no-wildcard' })
  } catch (cause) {
    throw unreadable(expression, new Misreading(at, (cause as Error).message), undefined, cause)
  }
}
