/** Random calendar events, each with what it means said twice: as an expression, and as a question about a local time. */
import * as fc from 'fast-check'

/** A local time, in whole seconds. */
export interface LocalTime {
  readonly year: number
  readonly month: number
  readonly day: number
  /** 0 is Monday. */
  readonly weekday: number
  readonly hour: number
  readonly minute: number
  readonly second: number
}

export interface RandomEvent {
  readonly expression: string
  readonly isDay: (time: LocalTime) => boolean
  readonly isHour: (hour: number) => boolean
  readonly isMinute: (minute: number) => boolean
  readonly isSecond: (second: number) => boolean
}

interface Part {
  readonly text: string
  readonly has: (value: number) => boolean
}

const any: Part = { text: '*', has: () => true }
const weekdays = ['Mon', 'tuesday', 'WED', 'Thu', 'Friday', 'Sat', 'sunday']

/** `a`, `a..b`, `a/step`, `a..b/step`: it starts from `least` to `most`, and goes on to `end` at most. */
function component(least: number, most: number, end: number = most): fc.Arbitrary<Part> {
  return fc
    .record({
      start: fc.integer({ min: least, max: most }),
      length: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
      step: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
      isPadded: fc.boolean(),
    })
    .map(({ start, length, step, isPadded }) => {
      const write = (value: number): string => String(value).padStart(isPadded ? 2 : 1, '0')
      const stop = length === undefined || start + length > end ? undefined : start + length
      const usedStep = stop !== undefined || (step !== undefined && start + step <= end) ? step : undefined
      const last = stop ?? (usedStep === undefined ? start : end)
      return {
        text: write(start) + (stop === undefined ? '' : `..${write(stop)}`) + (usedStep === undefined ? '' : `/${usedStep}`),
        has: (value) => value >= start && value <= last && (value - start) % (usedStep ?? 1) === 0,
      }
    })
}

function list(parts: fc.Arbitrary<Part>): fc.Arbitrary<Part> {
  return fc.array(parts, { minLength: 1, maxLength: 3 }).map((some) => ({
    text: some.map(({ text }) => text).join(','),
    has: (value) => some.some(({ has }) => has(value)),
  }))
}

function field(least: number, most: number): fc.Arbitrary<Part> {
  return fc.oneof(fc.constant(any), list(component(least, most)))
}

/** Days from the month's end: a list, what is counted is `length + 1 - day`, and a step goes on to the last day. */
const daysFromEnd = fc
  .record({ start: fc.integer({ min: 1, max: 19 }), length: fc.nat(5), step: fc.integer({ min: 1, max: 5 }), kind: fc.nat(2) })
  .map(({ start, length, step, kind }) => {
    if (kind === 1 && length > 0)
      return { text: `${start}..${start + length}`, has: (n: number) => n >= start && n <= start + length }
    if (kind === 2 && start - step >= 1)
      return { text: `${start}/${step}`, has: (n: number) => n <= start && (start - n) % step === 0 }
    return { text: String(start), has: (n: number) => n === start }
  })

const days: fc.Arbitrary<{ readonly text: string; readonly has: (time: LocalTime) => boolean }> = fc.oneof(
  { weight: 3, arbitrary: field(1, 31).map(({ text, has }) => ({ text: `-${text}`, has: ({ day }: LocalTime) => has(day) })) },
  {
    weight: 1,
    arbitrary: list(daysFromEnd).map(({ text, has }) => ({
      text: `~${text}`,
      has: ({ year, month, day }: LocalTime) => has(new Date(Date.UTC(year, month, 0)).getUTCDate() + 1 - day),
    })),
  },
)

const weekdayList: fc.Arbitrary<Part> = fc.oneof(
  fc.constant({ text: '', has: () => true }),
  fc.array(fc.tuple(fc.nat(6), fc.nat(6), fc.constantFrom('..', '-')), { minLength: 1, maxLength: 3 }).map((ranges) => {
    const sorted = ranges.map(([a, b, dots]) => [Math.min(a, b), Math.max(a, b), dots] as const)
    return {
      text: `${sorted.map(([from, to, dots]) => (from === to ? weekdays[from] : `${weekdays[from]}${dots}${weekdays[to]}`)).join(',')} `,
      has: (day: number) => sorted.some(([from, to]) => day >= from && day <= to),
    }
  }),
)

export const randomEvents: fc.Arbitrary<RandomEvent> = fc
  .record({
    weekday: weekdayList,
    year: fc.oneof({ weight: 4, arbitrary: fc.constant(any) }, { weight: 1, arbitrary: list(component(2020, 2035, 2199)) }),
    month: field(1, 12),
    day: days,
    hour: field(0, 23),
    minute: field(0, 59),
    second: field(0, 59),
  })
  .map(({ weekday, year, month, day, hour, minute, second }) => ({
    expression: `${weekday.text}${year.text}-${month.text}${day.text} ${hour.text}:${minute.text}:${second.text}`,
    isDay: (time) => weekday.has(time.weekday) && year.has(time.year) && month.has(time.month) && day.has(time),
    isHour: hour.has,
    isMinute: minute.has,
    isSecond: second.has,
  }))
