/** Intervals and instants as timers: when they elapse, and which are refused. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { TaskError } from '@taskstream/task-api'
import { calendar, cron, every, once, parseTimer } from '@taskstream/task-timers'
import type { Timer } from '@taskstream/task-timers'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

const ms = (iso: string): number => Date.parse(iso)
const invalidArgument = expect.objectContaining({ code: 'ARGUMENT_INVALID' })

function nexts(timer: Timer, base: string, count: number): string[] {
  const found: string[] = []
  for (let at = timer.next(ms(base)); at !== undefined && found.length < count; at = timer.next(at))
    found.push(new Date(at).toISOString().replace('.000Z', 'Z'))
  return found
}

function errorOf(read: () => unknown): TaskError {
  try {
    read()
  } catch (error) {
    if (error instanceof TaskError) return error
    throw error
  }
  throw new Error('it was read')
}

test.each<Timer>([
  calendar('Mon..Fri 09:00 Europe/Oslo'),
  calendar('@1800000000'),
  once(new Date('2027-01-15T08:00:00.5Z')),
  cron('*/10 8-17 * * MON-FRI', { zone: 'Europe/Oslo' }),
  cron('@daily'),
  cron('0 0 * * 1'),
  every(90_000, { from: new Date('2024-01-01T00:00:30Z') }),
  every('P1DT12H'),
])('$expression is read back as the same timer', (timer) => {
  const again = parseTimer(timer.expression)
  expect({ ...again, next: again.next(ms('2026-06-01T00:00:00Z')) }).toMatchObject({
    expression: timer.expression,
    zone: timer.zone,
    next: timer.next(ms('2026-06-01T00:00:00Z')),
  })
  expect(timer.next(ms('2026-06-01T00:00:00Z'))).toBeGreaterThan(ms('2026-06-01T00:00:00Z'))
  expect(Object.isFrozen(timer)).toBe(true)
  for (const after of [Number.NaN, -1, 1.5, '5']) expect(() => timer.next(after as number)).toThrow(invalidArgument)
})

describe('an interval', () => {
  test('elapses on its grid, and a grid without a start is the same for everybody', () => {
    expect(nexts(every('PT10M'), '2024-01-01T00:03:00Z', 2)).toEqual(['2024-01-01T00:10:00Z', '2024-01-01T00:20:00Z'])
    const shifted = every(600_000, { from: new Date('2024-01-01T00:00:07Z') })
    expect(shifted.expression).toBe('every:PT10M from 2024-01-01T00:00:07Z')
    expect(nexts(shifted, '2020-01-01T00:00:00Z', 2)).toEqual(['2024-01-01T00:00:07Z', '2024-01-01T00:10:07Z'])
    expect(nexts(shifted, '2024-01-01T00:00:07Z', 1)).toEqual(['2024-01-01T00:10:07Z'])
  })

  test('is the same whether it is said in milliseconds or as a duration', () => {
    const lengths = fc.oneof(
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 1, max: 3_153_600_000 }).map((n) => n * 1_000),
    )
    fc.assert(
      fc.property(lengths, fc.nat(4_000_000_000), fc.nat(4_000_000_000), (interval, start, after) => {
        const timer = every(interval, { from: new Date(start) })
        const next = timer.next(after)!
        expect([next > after, (next - start) % interval, next - interval < start || next - interval <= after]).toEqual([
          true,
          0,
          true,
        ])
        expect(parseTimer(timer.expression).next(after)).toBe(next)
      }),
    )
    expect(every(90_061_001).expression).toBe('every:P1DT1H1M1.001S')
    expect(every('P2W').next(0)).toBe(14 * 86_400_000)
  })

  test('goes on to the end of the year 2199, and has no zone', () => {
    expect(nexts(every('P1D'), '2199-12-30T00:00:00Z', 5)).toEqual(['2199-12-31T00:00:00Z'])
    expect([every('P1D').zone, every('P1D').inZone]).toEqual(['UTC', undefined])
  })

  test('that is none is refused', () => {
    for (const interval of [0, -1, 1.5, Number.NaN, Infinity, 3_153_600_000_001, undefined, null, {}])
      expect(() => every(interval as number)).toThrow(invalidArgument)
    for (const from of [new Date('1969-12-31'), new Date('2200-01-01'), new Date(Number.NaN), 5])
      expect(() => every(1_000, { from: from as Date })).toThrow(invalidArgument)
  })

  test.each([
    ['every:', 6, undefined],
    ['every:PT', 6, undefined],
    ['every:PT0S', 6, undefined],
    ['every:PT0.0001S', 6, undefined],
    ['every:-PT5M', 6, undefined],
    ['every:P200Y', 6, undefined],
    ['every:P1M', 6, 'monthly'],
    ['every:P1Y', 6, 'yearly'],
    ['every:10min', 6, 'every:PT10M'],
    ['every:1h 30m', 6, 'every:PT1H30M'],
    ['every:2 days', 6, 'every:P2D'],
    ['every:pt5m', 6, 'every:PT5M'],
    ['every:10 months', 6, undefined],
    ['every:5m 5m', 6, undefined],
    ['every:99999999999h', 6, undefined],
    ['every:PT10M since 2024-01-01T00:00:00Z', 12, undefined],
    ['every:PT10M from 2024-02-30T00:00:00Z', 12, undefined],
    ['every:PT10M from 2024-01-01', 12, undefined],
    ['every:PT10M from 2200-01-01T00:00:00Z', 12, undefined],
    ['every:PT10M from 2024-01-01T00:00:00Z Z', 12, undefined],
  ])('%j cannot be read, at %i, and %j may be meant', (expression, position, suggestion) => {
    const { code, data } = errorOf(() => parseTimer(expression))
    expect([code, data['position'], data['suggestion']]).toEqual(['TIMER_INVALID', position, suggestion])
    if (suggestion !== undefined) expect(parseTimer(suggestion).next(0)).toBeGreaterThan(0)
  })
})

describe('once', () => {
  test('is once', () => {
    const timer = once(new Date('2027-01-15T08:00:00Z'))
    expect(timer.expression).toBe('2027-01-15 08:00:00 UTC')
    expect(nexts(timer, '2024-01-01T00:00:00Z', 3)).toEqual(['2027-01-15T08:00:00Z'])
    expect(timer.next(ms('2027-01-15T08:00:00Z'))).toBeUndefined()
    expect(once(new Date(1_800_000_000_001)).next(1_800_000_000_000)).toBe(1_800_000_000_001)
  })

  test('is refused where there is no such instant', () => {
    for (const instant of [new Date(Number.NaN), new Date('1969-12-31T23:59:59Z'), new Date('2200-01-01'), 5, undefined])
      expect(() => once(instant as Date)).toThrow(invalidArgument)
  })
})

describe('a cron pattern', () => {
  test('has five fields, seconds, years, names, and either of day and weekday', () => {
    expect(nexts(cron('0 9 1,15 * MON'), '2024-01-01T00:00:00Z', 4)).toEqual(
      ['01', '08', '15', '22'].map((day) => `2024-01-${day}T09:00:00Z`),
    )
    expect(nexts(cron('*/20 * * * * *'), '2024-01-01T00:00:00.500Z', 2)).toEqual(['2024-01-01T00:00:20Z', '2024-01-01T00:00:40Z'])
    expect(nexts(cron('0 0 0 1 1 * 2030-2031'), '2024-01-01T00:00:00Z', 3)).toEqual([
      '2030-01-01T00:00:00Z',
      '2031-01-01T00:00:00Z',
    ])
    expect(nexts(cron('0 12 L * *'), '2024-02-01T00:00:00Z', 1)).toEqual(['2024-02-29T12:00:00Z'])
  })

  test('is of UTC, or of the zone that is its last word', () => {
    expect(nexts(cron('0 9 * * *'), '2024-07-01T00:00:00Z', 1)).toEqual(['2024-07-01T09:00:00Z'])
    expect(nexts(parseTimer('cron:0 9 * * * Europe/Oslo'), '2024-07-01T00:00:00Z', 1)).toEqual(['2024-07-01T07:00:00Z'])
    expect(cron('0 9 * * *').inZone?.('Asia/Tokyo').expression).toBe('cron:0 9 * * * Asia/Tokyo')
  })

  test('never elapses when its days do not exist, and not after the year 2199', () => {
    expect(cron('0 0 31 2 *').next(0)).toBeUndefined()
    expect(cron('0 0 1 1 *').next(ms('2199-06-01T00:00:00Z'))).toBeUndefined()
    expect(cron('0 0 1 1 *').next(8.64e15)).toBeUndefined()
  })

  // Calendar events differ: see what they say of clocks that change.
  test.each([
    // Times that are said are made up for at the end of the gap; steps skip it.
    ['30 2 * * *', '2024-03-30T12:00:00Z', ['2024-03-31T01:00:00Z', '2024-04-01T00:30:00Z']],
    ['30 2,14 * * *', '2024-03-30T14:00:00Z', ['2024-03-31T01:00:00Z', '2024-03-31T12:30:00Z']],
    ['*/20 2 * * *', '2024-03-30T12:00:00Z', ['2024-04-01T00:00:00Z', '2024-04-01T00:20:00Z']],
    ['*/20 * * * *', '2024-03-31T00:30:00Z', ['2024-03-31T00:40:00Z', '2024-03-31T01:00:00Z']],
    // Times that are said elapse once; steps and * in both passes.
    ['30 2 * * *', '2024-10-26T12:00:00Z', ['2024-10-27T00:30:00Z', '2024-10-28T01:30:00Z']],
    ['30 2,14 * * *', '2024-10-26T14:00:00Z', ['2024-10-27T00:30:00Z', '2024-10-27T13:30:00Z']],
    ['30 * * * *', '2024-10-26T23:45:00Z', ['2024-10-27T00:30:00Z', '2024-10-27T01:30:00Z', '2024-10-27T02:30:00Z']],
  ])('%s in Oslo after %s elapses at %j, where clocks change', (pattern, base, expected) => {
    expect(nexts(cron(pattern, { zone: 'Europe/Oslo' }), base, expected.length)).toEqual(expected)
  })

  test.each([
    'cron:',
    'cron:61 * * * *',
    'cron:* * * *',
    'cron:0 9 * * FOO',
    'cron:0 9 * * * Europe/Olso',
    `cron:${'0,'.repeat(500)}0 * * * *`,
  ])('%j cannot be read', (expression) => {
    expect(errorOf(() => parseTimer(expression)).data).toMatchObject({ expression })
    expect(errorOf(() => parseTimer(expression)).code).toBe('TIMER_INVALID')
  })

  test('has no colon: croner would take it for an instant', () => {
    expect(errorOf(() => cron('2024-01-01T00:00:00Z')).data).toEqual({ expression: 'cron:2024-01-01T00:00:00Z', position: 18 })
  })

  test('takes no zone that is none', () => {
    for (const zone of ['europe/oslo', 'Mars/Base', 5])
      expect(() => cron('0 9 * * *', { zone: zone as string })).toThrow(invalidArgument)
  })
})

test('what the guide calls the normalised form is it', () => {
  const guide = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'guides', 'timers.md'), 'utf8')
  const rows = [...guide.matchAll(/^\| `([^`]+)` \|.*\| `([^`]+)` \|$/gm)].map(([, expression = '', normalized]) => [
    expression,
    normalized,
  ])
  expect(rows.length).toBeGreaterThan(10)
  expect(rows.map(([expression = '']) => [expression, calendar(expression).normalized])).toEqual(rows)
})

test('a timer is text', () => {
  for (const other of [5, undefined, null, {}]) expect(() => parseTimer(other as string)).toThrow(invalidArgument)
})
