import { Misreading } from '../core/timer-error.ts'
import { timerLimits } from '../core/timer.ts'
import { zoneName } from '../zones/zone-name.ts'
import { Cursor } from './cursor.ts'
import { second } from './fields.ts'
import type { CalendarFields, Components } from './fields.ts'
import { parseComponents } from './parse-components.ts'
import { parseWeekdays, weekdayNames } from './weekdays.ts'

/**
 * Words that stand for a whole expression, in upper or lower case.
 * The grammar and these words are systemd's: https://www.freedesktop.org/software/systemd/man/252/systemd.time.html
 */
export const shorthands: ReadonlyMap<string, string> = new Map([
  ['minutely', '*:*'],
  ['hourly', '*:00'],
  ['daily', '00:00'],
  ['weekly', 'Mon 00:00'],
  ['monthly', '*-01'],
  ['quarterly', '1,4,7,10-01'],
  ['semiannually', '1,7-01'],
  ['semi-annually', '1,7-01'],
  ['biannually', '1,7-01'],
  ['bi-annually', '1,7-01'],
  ['yearly', '01-01'],
  ['annually', '01-01'],
  ['anually', '01-01'],
])

type DateFields = Pick<CalendarFields, 'year' | 'month' | 'day' | 'fromEnd'>
type TimeFields = Pick<CalendarFields, 'hour' | 'minute' | 'second'>

const anyDate: DateFields = { year: undefined, month: undefined, day: undefined, fromEnd: false }
const midnight: TimeFields = { hour: value(0), minute: value(0), second: value(0) }

/**
 * Reads `[weekdays] [date] [time] [zone]`, a shorthand or `@<epoch seconds>`. `normalize` checks the values.
 *
 * @throws Misreading
 */
export function parse(expression: string): CalendarFields {
  if (expression.length > timerLimits.expressionLength)
    throw new Misreading(timerLimits.expressionLength, `an expression has at most ${timerLimits.expressionLength} characters`)
  const { text, zone } = cutZone(expression)
  if (text === '') throw new Misreading(0, 'a weekday, a date or a time is needed')
  const shorthand = shorthands.get(text.toLowerCase())
  const fields = parseParts(new Cursor(shorthand ?? text))
  return { ...fields, ...(zone !== undefined && fields.zone === undefined && { zone }) }
}

/** The last word is a zone if it names one. */
function cutZone(expression: string): { readonly text: string; readonly zone?: string } {
  const blank = expression.lastIndexOf(' ')
  if (blank < 0) return { text: expression }
  const word = expression.slice(blank + 1)
  // systemd does not know Z, which is UTC in ISO 8601.
  const zone = word === 'Z' || word.toLowerCase() === 'utc' ? 'UTC' : word
  return zoneName(zone) === zone ? { text: expression.slice(0, blank), zone } : { text: expression }
}

function parseParts(cursor: Cursor): CalendarFields {
  refuseWord(cursor, true)
  const weekdays = parseWeekdays(cursor)
  if (cursor.isAtEnd) return { weekdays, ...anyDate, ...midnight }
  refuseWord(cursor, false)
  if (cursor.take('@')) return { ...parseEpoch(cursor), weekdays }
  const date = parseDate(cursor)
  if (cursor.isAtEnd && date) return { weekdays, ...date, ...midnight }
  refuseWord(cursor, false)
  return { weekdays, ...(date ?? anyDate), ...parseTime(cursor) }
}

/** Reads a date. If a time stands here instead, returns undefined and leaves the cursor in its place. */
function parseDate(cursor: Cursor): DateFields | undefined {
  const from = cursor.at
  const first = parseComponents(cursor, 1)
  if (cursor.isAtEnd || cursor.here === ':') {
    cursor.at = from
    return undefined
  }
  const isFirstFromEnd = parseDateSeparator(cursor)
  const other = parseComponents(cursor, 1)
  if (endsHere(cursor)) return { ...anyDate, month: first, day: other, fromEnd: isFirstFromEnd }
  if (isFirstFromEnd) throw cursor.fail('only the day is counted from the end of the month')
  const fromEnd = parseDateSeparator(cursor)
  const third = parseComponents(cursor, 1)
  if (!endsHere(cursor)) throw cursor.fail('a blank is expected after a date')
  return { year: first, month: other, day: third, fromEnd }
}

function parseDateSeparator(cursor: Cursor): boolean {
  if (cursor.take('~')) return true
  if (cursor.take('-')) return false
  throw cursor.fail('a date is year-month-day or month-day, and a time is hour:minute')
}

/** Whether a part of the expression ends here. Skips blanks. */
function endsHere(cursor: Cursor): boolean {
  return cursor.isAtEnd || cursor.match(/ +/y) !== ''
}

function parseTime(cursor: Cursor): TimeFields {
  const hour = parseComponents(cursor, 1)
  if (!cursor.take(':')) throw cursor.fail('a time needs its minutes: hour:minute')
  const minute = parseComponents(cursor, 1)
  if (cursor.isAtEnd) return { hour, minute, second: value(0) }
  if (cursor.take(':')) {
    const seconds = parseComponents(cursor, second)
    if (cursor.isAtEnd) return { hour, minute, second: seconds }
  }
  if (cursor.here === ' ') {
    cursor.at++
    refuseWord(cursor, false)
    throw cursor.fail('only a zone may follow the time')
  }
  throw cursor.fail('a time is hour:minute or hour:minute:second')
}

/** Throws the error that fits a word where a date or a time is expected. A weekday may stand at the beginning. */
function refuseWord(cursor: Cursor, isFirst: boolean): void {
  const [word = ''] = cursor.text.slice(cursor.at).split(' ', 1)
  if (!isFirst && /^([+]|-\d\d?:)/.test(word)) throw cursor.fail('an offset is not a zone: give a name, such as Europe/Oslo')
  if (!/^[a-z]/i.test(word)) return
  if (weekdayNames.some((name) => word.toLowerCase().startsWith(name.slice(0, 3)))) {
    if (isFirst) return
    throw cursor.fail('weekdays come first, in one list without blanks')
  }
  if (shorthands.has(word.toLowerCase())) throw cursor.fail('only a zone may follow a shorthand')
  if (zoneName(word) !== undefined) throw cursor.fail('only one zone is allowed, after a weekday, a date or a time')
  throw cursor.fail(
    isFirst
      ? 'a weekday, a date, a time or a shorthand such as daily is expected'
      : 'there is no such zone: give a name of the time zone database, such as Europe/Oslo, or UTC',
  )
}

/** Reads seconds since 1970, which are in UTC even beside a zone. Skips blanks and a plus sign, as systemd does. */
function parseEpoch(cursor: Cursor): Omit<CalendarFields, 'weekdays'> {
  const at = cursor.at
  cursor.match(/\s*\+?/y)
  const digits = cursor.match(/\d+/y)
  if (digits === '' || !cursor.isAtEnd) throw cursor.fail('whole seconds since 1970 are expected after @')
  const date = new Date(Number(digits) * 1_000)
  const year = date.getUTCFullYear()
  if (!(year <= timerLimits.lastYear)) throw cursor.fail(`the instant is after the year ${timerLimits.lastYear}`, at)
  return {
    year: value(year),
    month: value(date.getUTCMonth() + 1),
    day: value(date.getUTCDate()),
    fromEnd: false,
    hour: value(date.getUTCHours()),
    minute: value(date.getUTCMinutes()),
    second: value(date.getUTCSeconds() * second),
    zone: 'UTC',
  }
}

function value(start: number): Components {
  return [{ start, step: 0, at: 0 }]
}
