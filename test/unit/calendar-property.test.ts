/** What calendar events promise, against a search that looks at every second. */
import { isTaskError } from '@taskstream/task-api'
import { calendar, parseTimer } from '@taskstream/task-timers'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { randomEvents } from './random-event.ts'
import type { LocalTime, RandomEvent } from './random-event.ts'

const day = 86_400_000
/** So far the slow search looks. */
const daysSought = 500

const instants = fc
  .date({ min: new Date('2019-01-01T00:00:00Z'), max: new Date('2036-01-01T00:00:00Z'), noInvalidDate: true })
  .map((date) => Math.floor(date.getTime() / 1_000) * 1_000)

function toLocal(local: number): LocalTime {
  const date = new Date(local)
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    weekday: (date.getUTCDay() + 6) % 7,
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
  }
}

/** The first second after `after` that an event has; undefined if none comes in so many days. */
function search(event: RandomEvent, after: number): number | undefined {
  for (let date = Math.floor(after / day) * day; date < after + daysSought * day; date += day) {
    if (!event.isDay(toLocal(date))) continue
    for (let hour = 0; hour < 24; hour++) {
      if (!event.isHour(hour)) continue
      for (let minute = 0; minute < 60; minute++) {
        if (!event.isMinute(minute)) continue
        for (let second = 0; second < 60; second++) {
          const instant = date + ((hour * 60 + minute) * 60 + second) * 1_000
          if (instant > after && event.isSecond(second)) return instant
        }
      }
    }
  }
  return undefined
}

test('the next elapse is the first second that every part allows', () => {
  let found = 0
  fc.assert(
    fc.property(randomEvents, instants, (event, after) => {
      const next = calendar(event.expression).next(after)
      const expected = search(event, after)
      if (expected !== undefined) found++
      else if (next !== undefined) expect(next).toBeGreaterThan(after + (daysSought - 1) * day)
      if (expected !== undefined) expect(next).toBe(expected)
    }),
    { numRuns: 2_000 },
  )
  expect(found).toBeGreaterThan(1_000)
})

test('elapses ascend: the next is after the instant, and no earlier than that of an earlier instant', () => {
  fc.assert(
    fc.property(randomEvents, instants, instants, (event, a, b) => {
      const timer = calendar(event.expression)
      const [first, second] = [Math.min(a, b), Math.max(a, b)].map((after) => timer.next(after) ?? Infinity) as [number, number]
      expect(first).toBeGreaterThan(Math.min(a, b))
      expect(second).toBeGreaterThanOrEqual(first)
    }),
    { numRuns: 2_000 },
  )
})

test('the normalised form is the same event, and its own normalised form', () => {
  fc.assert(
    fc.property(randomEvents, instants, fc.constantFrom('', ' UTC', ' Europe/Oslo'), ({ expression }, after, zone) => {
      const event = calendar(expression + zone)
      const again = calendar(event.normalized)
      expect(again.normalized).toBe(event.normalized)
      expect(again.next(after)).toBe(event.next(after))
    }),
    { numRuns: 2_000 },
  )
})

/** Days on which clocks change, for half an hour, for an hour, at midnight, and for a whole day. */
const changes: readonly (readonly [zone: string, date: string])[] = [
  ['Europe/Oslo', '2024-03-31'],
  ['Europe/Oslo', '2024-10-27'],
  ['America/New_York', '2024-03-10'],
  ['America/New_York', '2024-11-03'],
  ['America/Sao_Paulo', '2018-11-04'],
  ['America/Sao_Paulo', '2018-02-18'],
  ['America/Havana', '2024-11-03'],
  ['Australia/Lord_Howe', '2024-04-07'],
  ['Australia/Lord_Howe', '2024-10-06'],
  ['Pacific/Apia', '2011-12-30'],
  ['Europe/Dublin', '2024-03-31'],
]

/** Every minute of four days around a change: its instant, and what the platform says that clocks show. */
const clocks = new Map(
  changes.map(([zone, date]) => {
    const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
    const start = Date.parse(date) - 2 * day
    const minutes = Array.from({ length: 4 * 24 * 60 }, (_, minute) => {
      const instant = start + minute * 60_000
      return { instant, local: Date.parse(`${format.format(instant).replace(' ', 'T')}Z`) }
    })
    return [`${zone} ${date}`, minutes] as const
  }),
)

test('where clocks change, the next elapse is the first local time from now on, in its first pass that is still to come', () => {
  let found = 0
  fc.assert(
    fc.property(randomEvents, fc.constantFrom(...changes), fc.nat(4 * 24 * 60 - 2), (event, [zone, date], index) => {
      // Of minutes only, so that each can be looked at.
      const expression = `${event.expression.slice(0, event.expression.lastIndexOf(':'))}:00 ${zone}`
      const minutes = clocks.get(`${zone} ${date}`)!
      const { instant: after, local: now } = minutes[index]!
      const rest = minutes.slice(index + 1)
      const [expected] = rest
        .filter(({ local }) => {
          const time = toLocal(local)
          return local > now && event.isDay(time) && event.isHour(time.hour) && event.isMinute(time.minute)
        })
        .sort((a, b) => a.local - b.local || a.instant - b.instant)
      const next = calendar(expression).next(after)
      // The last day's end is not seen, and its local times may come again.
      if (expected && expected.instant < minutes[0]!.instant + 3 * day) {
        found++
        expect([expression, next]).toEqual([expression, expected.instant])
      } else if (next !== undefined) expect(next).toBeGreaterThanOrEqual(minutes[0]!.instant + 3 * day)
    }),
    { numRuns: 3_000 },
  )
  expect(found).toBeGreaterThan(300)
})

const pieces = fc.constantFrom(
  ...'*_-_:_.._,_/_~_ _  _@_.5_+_\t_0_1_5_12_23_31_60_99_2024_99999999999'.split('_'),
  ...'Mon_tues_sunday_daily_UTC_Z_Europe/Oslo_europe/olso_am_T_every_cron:_1e9_٣_\u0000_'.split('_'),
)

test('any text is read or refused with an error of its own, and what an error suggests can be read', () => {
  const damaged = fc
    .tuple(randomEvents, fc.nat({ max: 60 }), fc.nat({ max: 1 }), pieces)
    .map(([{ expression }, position, length, piece]) => {
      const at = position % (expression.length + 1)
      return expression.slice(0, at) + piece + expression.slice(at + length)
    })
  const soup = fc.array(pieces, { maxLength: 12 }).map((some) => some.join(''))
  const texts = fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), soup, damaged)
  let [read, suggested] = [0, 0]
  fc.assert(
    fc.property(texts, (text) => {
      try {
        calendar(text).next(0)
        read++
      } catch (error) {
        if (!isTaskError(error, 'TIMER_INVALID')) throw error
        const { suggestion } = error.data
        if (suggestion === undefined) return
        suggested++
        parseTimer(suggestion as string).next(0)
      }
    }),
    { numRuns: 3_000 },
  )
  expect([read > 20, suggested > 20]).toEqual([true, true])
})
