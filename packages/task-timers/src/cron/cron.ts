import { checkOptions, invalid } from '@taskstream/task-api'
import { Cron } from 'croner'
import { checkAfter, lastElapse } from '../core/instant.ts'
import { Misreading, unreadable } from '../core/timer-error.ts'
import { timerLimits } from '../core/timer.ts'
import type { Timer } from '../core/timer.ts'
import { zoneName } from '../zones/zone-name.ts'
import { checkZone } from '../zones/zone.ts'

export const cronPrefix = 'cron:'

export interface CronOptions {
  /** The time zone of the pattern, such as `Europe/Oslo`. Default `UTC`. */
  readonly zone?: string
}

/**
 * Makes a timer from a cron pattern, as croner reads it: five fields, six with seconds first, seven with years last, or a name such as `@daily`.
 * If the day of the month and the weekday are both restricted, one of them is enough, as in cron.
 *
 * Changes of clocks follow the rule of Vixie cron, and calendar events have another. A pattern with `*` or a step in its hours, minutes or seconds
 * skips the hour that clocks skip, and elapses in both passes of a repeated hour. Any other pattern elapses at the end of a gap for its times in the
 * gap, and only in the first pass.
 *
 * @throws TaskError TIMER_INVALID if the pattern cannot be read, ARGUMENT_INVALID if there is no such zone
 * @example
 * cron('0 9 * * MON-FRI', { zone: 'Europe/Oslo' })
 */
export function cron(pattern: string, options: CronOptions = {}): Timer {
  checkOptions('cron', options, { zone: true })
  const { zone } = options
  if (typeof pattern !== 'string') throw invalid('pattern', pattern, 'must be a string')
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
      new Misreading(timerLimits.expressionLength, `an expression has at most ${timerLimits.expressionLength} characters`),
    )
  // croner would read a pattern with a colon as an instant.
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
