import { Misreading } from '../core/timer-error.ts'
import { fieldNames, fields, second } from './fields.ts'
import type { CalendarFields, Component, Components, FieldName } from './fields.ts'
import { formatWeekdays } from './weekdays.ts'

/**
 * Normalises fields as systemd does: lists are sorted and have no duplicates, ranges end with the last value that they reach, years have four digits.
 * Then systemd's rules are checked. Because they come last, `0..5/30` is allowed, and means 0.
 *
 * @throws Misreading if systemd refuses the fields
 */
export function normalize(parsed: CalendarFields): CalendarFields {
  // A list that allows every day is the same from either end of the month.
  const fromEnd = parsed.fromEnd && parsed.day !== undefined
  const lists = fieldNames.map((name) => [name, normalizeList(name, parsed[name], fromEnd)] as const)
  return { ...parsed, ...(Object.fromEntries(lists) as Record<FieldName, Components>), fromEnd }
}

/** Writes fields as an expression that `parse` reads as the same fields. */
export function format({ weekdays, fromEnd, zone, ...lists }: CalendarFields): string {
  const { year, month, day, hour, minute } = lists
  const date = `${formatList(year, 1)}-${formatList(month, 1)}${fromEnd ? '~' : '-'}${formatList(day, 1)}`
  const time = `${formatList(hour, 1)}:${formatList(minute, 1)}:${formatSeconds(lists.second)}`
  return [formatWeekdays(weekdays), date, time, zone].filter(Boolean).join(' ')
}

function normalizeList(name: FieldName, components: Components, fromEnd: boolean): Components {
  if (!components) return undefined
  const field = name === 'day' && fromEnd ? 'dayFromEnd' : name
  const sorted = components.map((each) => normalizeComponent(name === 'year' ? withCentury(each) : each)).sort(compare)
  for (const component of sorted) check(field, component)
  return sorted.filter((each, index) => index === 0 || compare(each, sorted[index - 1]!) !== 0)
}

/** Ends a range with the last value that it reaches. A range that reaches no second value becomes a single value. */
function normalizeComponent({ start, stop, step, at }: Component): Component {
  if (stop === undefined || stop < start) return { start, step, at, ...(stop !== undefined && { stop }) }
  const last = stop - ((stop - start) % step)
  return last === start ? { start, step: 0, at } : { start, stop: last, step, at }
}

/** Adds the century to years of two digits: `69` is 2069, and `70` is 1970. */
function withCentury({ start, stop, ...rest }: Component): Component {
  return { ...rest, start: toYear(start), ...(stop !== undefined && { stop: toYear(stop) }) }
}

function toYear(year: number): number {
  return year < 70 ? year + 2_000 : year < 100 ? year + 1_900 : year
}

function compare(a: Component, b: Component): number {
  return a.start - b.start || (a.stop ?? -1) - (b.stop ?? -1) || a.step - b.step
}

function check(name: keyof typeof fields, { start, stop, step, at }: Component): void {
  const { least, most, rule } = fields[name]
  if (start < least || start > most || (stop ?? least) > most) throw new Misreading(at, rule)
  if (stop !== undefined && stop < start)
    throw new Misreading(
      at,
      name === 'dayFromEnd' ? 'a range ascends, also from the end of the month: ~1..5 is the last five days' : 'a range ascends',
    )
  if (stop !== undefined || step === 0) return
  // Days from the end of the month count down, and a repetition of them ends at 1, the last day.
  if (name === 'dayFromEnd' ? start - step < least : start + step > most)
    throw new Misreading(at, 'the repetition is so long that it never repeats')
}

function formatSeconds(components: Components): string {
  const list = components ?? []
  const isEverySecond = list.some(({ start, stop, step }) => start === 0 && stop === undefined && step === second)
  const isWhole = list.every(({ start, step }) => start % second === 0 && step % second === 0)
  // systemd writes * for every list that contains every second, and loses the fractions in the list. We keep them.
  return isEverySecond && isWhole ? '*' : formatList(components, second)
}

function formatList(components: Components, unit: number): string {
  if (!components) return '*'
  return components
    .map(({ start, stop, step }) => {
      const range = stop === undefined ? '' : `..${formatNumber(stop, unit)}`
      const repetition = step === 0 || (stop !== undefined && step === unit) ? '' : `/${formatNumber(step, unit, 1)}`
      return formatNumber(start, unit) + range + repetition
    })
    .join(',')
}

function formatNumber(value: number, unit: number, digits: number = 2): string {
  const fraction = value % unit
  const whole = String((value - fraction) / unit).padStart(digits, '0')
  return fraction === 0 ? whole : `${whole}.${String(fraction).padStart(6, '0')}`
}
