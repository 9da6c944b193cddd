import { checkInteger, checkOptions, taskLimits } from '@taskstream/task-api'
import { formatDuration, parseDuration } from './core/duration.ts'
import { checkAfter, checkElapse, lastElapse } from './core/instant.ts'
import { Misreading, unreadable } from './core/timer-error.ts'
import type { Timer } from './core/timer.ts'

export const everyPrefix = 'every:'

export interface EveryOptions {
  /** The first elapse. Default: 1970-01-01T00:00Z, so that every process finds the same round instants: `PT10M` elapses at :00, :10 … */
  readonly from?: Date
}

/**
 * Makes a timer that elapses at `from`, and then again after every interval, whatever clocks do meanwhile.
 *
 * @param interval milliseconds, 1 to a hundred years, or an ISO 8601 duration such as `PT10M`; a day has 24 hours
 * @throws TaskError TIMER_INVALID if the text is not a duration, otherwise ARGUMENT_INVALID
 * @example
 * every('PT10M').next(Date.parse('2024-01-01T00:03:00Z')) // 00:10
 * every(90_000, { from: new Date('2024-01-01T00:00:30Z') })
 */
export function every(interval: number | string, options: EveryOptions = {}): Timer {
  checkOptions('every', options, { from: true })
  const { from } = options
  if (typeof interval !== 'string') checkInteger('interval', interval, 1, taskLimits.durationMs)
  if (from !== undefined) checkElapse('from', from)
  const duration = typeof interval === 'string' ? interval : formatDuration(interval)
  return readEvery(`${everyPrefix}${duration}${from === undefined ? '' : ` from ${from.toISOString().replace('.000Z', 'Z')}`}`)
}

/** Reads `every:PT10M`, and `every:PT10M from 2024-01-01T00:00:00Z`. */
export function readEvery(expression: string): Timer {
  try {
    const [duration = '', ...rest] = expression.slice(everyPrefix.length).split(' ')
    const interval = parseDuration(duration, everyPrefix.length)
    const start = rest.length === 0 ? 0 : parseStart(rest, everyPrefix.length + duration.length + 1)
    return Object.freeze<Timer>({
      expression,
      zone: 'UTC',
      next(after) {
        checkAfter(after)
        const next = after < start ? start : start + (Math.floor((after - start) / interval) + 1) * interval
        return next > lastElapse ? undefined : next
      },
    })
  } catch (error) {
    if (error instanceof Misreading) throw unreadable(expression, error, suggest(expression.slice(everyPrefix.length)))
    throw error
  }
}

function parseStart([word, text = '', ...rest]: readonly string[], position: number): number {
  const start = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?Z$/.test(text) ? new Date(text) : new Date(Number.NaN)
  // JavaScript reads February 30 as March 1.
  const isDate = !Number.isNaN(start.getTime()) && start.toISOString().startsWith(text.slice(0, 10))
  if (word !== 'from' || !isDate || start.getTime() < 0 || start.getTime() > lastElapse || rest.length > 0)
    throw new Misreading(
      position,
      'only the first instant may follow an interval, from the years 1970 to 2199: from 2024-01-01T00:00:00Z',
    )
  return start.getTime()
}

const calendars: Readonly<Record<string, string>> = {
  P1M: 'monthly',
  P3M: 'quarterly',
  P6M: 'semiannually',
  P12M: 'yearly',
  P1Y: 'yearly',
}

/** A suggestion for texts such as `10min`, `1h 30m` and `pt5m`. Months and years become calendar events. */
function suggest(text: string): string | undefined {
  const calendar = calendars[text.toUpperCase()]
  if (calendar !== undefined) return calendar
  const [, weeks, days, hours, minutes, seconds] =
    /^(?:(\d+) ?w(?:eeks?)? ?)?(?:(\d+) ?d(?:ays?)? ?)?(?:(\d+) ?h(?:ours?|rs?)? ?)?(?:(\d+) ?m(?:in(?:ute)?s?)? ?)?(?:(\d+) ?s(?:ec(?:ond)?s?)?)?$/i.exec(
      text,
    ) ?? []
  const date = `${weeks ? `${weeks}W` : ''}${days ? `${days}D` : ''}`
  const time = `${hours ? `${hours}H` : ''}${minutes ? `${minutes}M` : ''}${seconds ? `${seconds}S` : ''}`
  return [text.toUpperCase(), `P${date}${time && `T${time}`}`].filter(isDuration).map((duration) => everyPrefix + duration)[0]
}

function isDuration(text: string): boolean {
  try {
    return parseDuration(text, 0) > 0
  } catch {
    return false
  }
}
