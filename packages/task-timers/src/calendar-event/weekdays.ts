import type { Cursor } from './cursor.ts'
import { everyDay } from './fields.ts'

export const weekdayNames: readonly string[] = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']
const shortNames: readonly string[] = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

/** Reads a list of weekdays and ranges of weekdays, and the blanks after it. Returns `everyDay` if there is no weekday. */
export function parseWeekdays(cursor: Cursor): number {
  if (!/[a-z]/i.test(cursor.here)) return everyDay
  let weekdays = 0
  for (;;) {
    const at = cursor.at
    const from = parseWeekday(cursor)
    // systemd still reads the hyphen, which made ranges before `..` did.
    const to = cursor.take('..') || cursor.take('-') ? parseWeekday(cursor) : from
    if (to < from) throw cursor.fail('a range of weekdays ascends from Monday to Sunday', at)
    for (let day = from; day <= to; day++) weekdays |= 1 << day
    const isListed = cursor.take(',')
    // A comma may follow the last weekday.
    if (cursor.isAtEnd || cursor.match(/ +/y) !== '') return weekdays
    if (!isListed) throw cursor.fail('a blank is expected after weekdays')
  }
}

/** Writes weekdays as `Mon..Wed,Fri`; empty for every day. */
export function formatWeekdays(weekdays: number): string {
  if (weekdays === everyDay) return ''
  const parts: string[] = []
  for (let from = 0; from < 7; from++) {
    if (!has(weekdays, from)) continue
    let to = from
    while (to < 6 && has(weekdays, to + 1)) to++
    parts.push(...(to - from > 1 ? [`${shortNames[from]}..${shortNames[to]}`] : shortNames.slice(from, to + 1)))
    from = to
  }
  return parts.join(',')
}

function has(weekdays: number, day: number): boolean {
  return ((weekdays >> day) & 1) === 1
}

function parseWeekday(cursor: Cursor): number {
  const at = cursor.at
  const word = cursor.match(/[a-z]+/iy).toLowerCase()
  const day = weekdayNames.findIndex((name) => word === name || word === name.slice(0, 3))
  if (day < 0) throw cursor.fail('a weekday is expected: Mon, Tue, Wed, Thu, Fri, Sat or Sun, or its full name', at)
  return day
}
