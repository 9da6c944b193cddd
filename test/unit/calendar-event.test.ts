/**
 * `calendar-vectors.json` is what `systemd-analyze calendar` of systemd 252 printed, with TZ=UTC, and what its library gave in microseconds;
 * its first lines say how.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { TaskError } from '@taskstream/task-api'
import { calendar, parseTimer, timerLimits } from '@taskstream/task-timers'
import { describe, expect, test, vi } from 'vitest'

interface Vector {
  readonly expression: string
  readonly normalized: string
  readonly base: string
  readonly next: readonly string[]
  readonly nextMicros?: readonly string[]
}

const vectors = JSON.parse(readFileSync(join(import.meta.dirname, 'calendar-vectors.json'), 'utf8')) as Readonly<{
  valid: readonly Vector[]
  undetermined: readonly Pick<Vector, 'expression' | 'base'>[]
  invalid: readonly Pick<Vector, 'expression'>[]
}>

const ms = (iso: string): number => Date.parse(iso)

function toIso(micros: number): string {
  const fraction = micros % 1_000_000
  const seconds = new Date((micros - fraction) / 1_000).toISOString().slice(0, 19)
  return `${seconds}${fraction === 0 ? '' : `.${String(fraction).padStart(6, '0')}`}Z`
}

/** The next five, fewer if there are no more. */
function nextFive(expression: string, base: string): string[] {
  const event = calendar(expression)
  const found: string[] = []
  for (let at = event.nextMicros(ms(base) * 1_000); at !== undefined && found.length < 5; at = event.nextMicros(at))
    found.push(toIso(at))
  return found
}

function errorOf(expression: string): TaskError {
  try {
    calendar(expression)
  } catch (error) {
    if (error instanceof TaskError) return error
    throw error
  }
  throw new Error(`${expression} was read`)
}

describe('what systemd says of', () => {
  test(`${vectors.valid.length} calendar events is what we say: how they are written in full, and their next five elapses`, () => {
    expect(vectors.valid.length).toBeGreaterThan(380)
    for (const { expression, normalized, base, next, nextMicros } of vectors.valid) {
      const found = nextFive(expression, base)
      const seconds = found.map((iso) => iso.replace(/\.\d+/, ''))
      expect([expression, calendar(expression).normalized, seconds]).toEqual([expression, normalized, next])
      if (nextMicros) expect([expression, found]).toEqual([expression, nextMicros])
    }
  })

  test('text that is no calendar event is what we say: it is refused, with an error that names it and the place', () => {
    expect(vectors.invalid.length).toBe(100)
    for (const { expression } of vectors.invalid) {
      const { code, data } = errorOf(expression)
      expect([expression, code, data['expression']]).toEqual([expression, 'TIMER_INVALID', expression])
      expect(data['position']).toBeGreaterThanOrEqual(0)
      expect(data['position']).toBeLessThanOrEqual(expression.length)
    }
  })

  test('events that it gives up on is that they never elapse: their only times are skipped by the clocks', () => {
    expect(vectors.undetermined.length).toBeGreaterThan(0)
    for (const { expression, base } of vectors.undetermined)
      expect([expression, nextFive(expression, base)]).toEqual([expression, []])
  })
})

// Facts of the same systemd that the file does not have.
test.each([
  ['Mon.. 12:00', undefined],
  ['Mon,  12:00', 'Mon *-*-* 12:00:00'],
  ['Mon ', 'Mon *-*-* 00:00:00'],
  ['12-25  UTC', '*-12-25 00:00:00 UTC'],
  ['12:00  UTC', undefined],
  ['daily  UTC', undefined],
  ['12:00 uTc', '*-*-* 12:00:00 UTC'],
  ['12:00 europe/oslo', undefined],
  ['12:00 PST', undefined],
  ['12:00 EST', '*-*-* 12:00:00 EST'],
  ['12:00 Asia/Kolkata', '*-*-* 12:00:00 Asia/Kolkata'],
  ['12:00 gmt', undefined],
  ['12:00 US/Pacific-New', undefined],
  ['12:00 SystemV/AST4ADT', undefined],
  ['Mon @0', 'Mon 1970-01-01 00:00:00 UTC'],
  ['@ +5', '1970-01-01 00:00:05 UTC'],
  ['@1 Europe/Oslo', '1970-01-01 00:00:01 UTC'],
  ['@7258118400', undefined],
  ['@1.5', undefined],
  ['99..05-1-1', '1999..2005-01-01 00:00:00'],
  ['68..71-1-1', undefined],
  ['070-1-1', '1970-01-01 00:00:00'],
  ['100-1-1', undefined],
  ['001-1', '*-01-01 00:00:00'],
  ['*~*', '*-*-* 00:00:00'],
  ['2024~1', undefined],
  ['0..5/30:00', '*-*-* 00:00:00'],
  ['*:0..10/7', '*-*-* *:00..07/7:00'],
  ['*:5/1', '*-*-* *:05/1:00'],
  ['*:1..1', '*-*-* *:01:00'],
  ['*:*:1..1', undefined],
  ['*:*:1..1/1', '*-*-* *:*:01'],
  ['*:*:0.5..0.7', undefined],
  ['*:*:0.5..0.7/0.1', '*-*-* *:*:00.500000..00.700000/0.100000'],
  ['*:*:0/1,5', '*-*-* *:*:*'],
  ['*:*:1.1234565', '*-*-* *:*:01.123457'],
  ['*:*:59.9999995', undefined],
  ['*:*:0/0.0000001', undefined],
  ['1/2,1/3,1..9/2:00', '*-*-* 01/2,01/3,01..09/2:00:00'],
  ['5,1..3,5/2,5:00', '*-*-* 01..03,05,05/2:00:00'],
  ['*-*~3..8/2', '*-*~03..07/2 00:00:00'],
  ['*-*~5/5', undefined],
  ['0..5/2147483648:00', undefined],
])('%j is written in full as %j', (expression, normalized) => {
  if (normalized === undefined) expect(errorOf(expression).code).toBe('TIMER_INVALID')
  else expect(calendar(expression).normalized).toBe(normalized)
})

describe('a calendar event', () => {
  test('of Z is of UTC, and one without a zone as well', () => {
    expect(calendar('12:00 Z')).toMatchObject({ normalized: '*-*-* 12:00:00 UTC', zone: 'UTC' })
    expect(calendar('12:00')).toMatchObject({ expression: '12:00', zone: 'UTC' })
  })

  test('keeps fractions of seconds beside every second, where systemd prints neither', () => {
    const event = calendar('*:*:0/1,0.5')
    expect(event.normalized).toBe('*-*-* *:*:00/1,00.500000')
    expect(calendar(event.normalized).nextMicros(0)).toBe(500_000)
  })

  // systemd 252 goes on from the hour and minute that a repetition ran over to, and misses what comes before them.
  test('elapses at its first times of a new day and of a new year, though a repetition ran over the end of the old one', () => {
    expect(nextFive('*:0/45', '2024-05-05T23:30:00Z').slice(0, 2)).toEqual(['2024-05-05T23:45:00Z', '2024-05-06T00:00:00Z'])
    expect(nextFive('*-*-2/12', '2029-12-30T00:00:00Z')[0]).toBe('2030-01-02T00:00:00Z')
  })

  // systemd 252 lets the second of a list be at most 25, the third 22, and so on.
  test('takes any days from the end of the month in a list', () => {
    expect(calendar('*-*~1,26,27,28').normalized).toBe('*-*~01,26,27,28 00:00:00')
  })

  test('gives whole milliseconds, each once, that are not before what it elapses at', () => {
    const event = calendar('*:*:0.0004,0.0005,0.0015,0.002')
    const found: number[] = []
    for (let at = event.next(0); at !== undefined && found.length < 4; at = event.next(at)) found.push(at)
    expect(found).toEqual([1, 2, 60_001, 60_002])
  })

  test('does not change, and neither does what is made of it for another zone', () => {
    const event = calendar('Mon..Fri 09:00 Europe/Oslo')
    expect(Object.isFrozen(event)).toBe(true)
    const tokyo = event.inZone('Asia/Tokyo')
    expect(Object.isFrozen(tokyo)).toBe(true)
    expect([tokyo.expression, tokyo.zone]).toEqual(['Mon..Fri *-*-* 09:00:00 Asia/Tokyo', 'Asia/Tokyo'])
    expect(event.normalized).toBe('Mon..Fri *-*-* 09:00:00 Europe/Oslo')
    for (const zone of ['europe/oslo', 'Mars/Base', '', undefined])
      expect(() => event.inZone(zone as string)).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
  })

  test('costs no search without an end: what never elapses looks once at each month that there is, at most', () => {
    const months = 230 * 12
    const looks = vi.spyOn(Date, 'UTC')
    for (const expression of ['*-02-30', '*-2,4,6,9,11-31', 'Mon 2199-01-01', 'Mon 1970/1-1-5/26', '*-*-* 23:59:59.999999']) {
      const event = calendar(expression)
      looks.mockClear()
      event.next(Date.parse('1970-01-01T00:00:00Z'))
      event.next(Date.parse('2199-12-31T23:59:59.999Z'))
      expect(looks.mock.calls.length, expression).toBeGreaterThan(0)
      expect(looks.mock.calls.length, expression).toBeLessThanOrEqual(2 * months)
    }
    looks.mockRestore()
  })

  test('refuses instants that are none, and has nothing after the year 2199', () => {
    const event = calendar('daily')
    for (const after of [Number.NaN, -1, 0.5, Infinity, 8.64e15 + 2, '0', undefined])
      expect(() => event.next(after as number)).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
    expect(event.next(8.64e15)).toBeUndefined()
    expect(calendar('2199-12-31 23:59 America/New_York').next(0)).toBe(ms('2200-01-01T04:59:00Z'))
  })
})

describe('clocks that change', () => {
  test.each([
    ['02:30 Europe/Oslo', '2024-03-30T12:00:00Z', ['2024-04-01T00:30:00Z', '2024-04-02T00:30:00Z']],
    ['*:0/20 Europe/Oslo', '2024-03-31T00:30:00Z', ['2024-03-31T00:40:00Z', '2024-03-31T01:00:00Z']],
    ['02:30 Europe/Oslo', '2024-10-26T12:00:00Z', ['2024-10-27T00:30:00Z', '2024-10-28T01:30:00Z']],
    ['*:30 Europe/Oslo', '2024-10-26T23:45:00Z', ['2024-10-27T00:30:00Z', '2024-10-27T02:30:00Z']],
    ['daily America/Sao_Paulo', '2018-11-03T12:00:00Z', ['2018-11-05T02:00:00Z', '2018-11-06T02:00:00Z']],
    ['00/1:00 America/Sao_Paulo', '2018-11-04T02:00:00Z', ['2018-11-04T03:00:00Z', '2018-11-04T04:00:00Z']],
    // Half an hour: 02:00 to 02:30, and 02:00 to 01:30.
    ['02:00 Australia/Lord_Howe', '2024-10-05T00:00:00Z', ['2024-10-06T15:00:00Z', '2024-10-07T15:00:00Z']],
    ['02:0/10 Australia/Lord_Howe', '2024-10-05T15:20:00Z', ['2024-10-05T15:30:00Z', '2024-10-05T15:40:00Z']],
    ['01:45 Australia/Lord_Howe', '2024-04-06T12:00:00Z', ['2024-04-06T14:45:00Z', '2024-04-07T15:15:00Z']],
    ['02:30 America/New_York', '2024-03-10T00:00:00Z', ['2024-03-11T06:30:00Z', '2024-03-12T06:30:00Z']],
    ['01:30 America/New_York', '2024-11-03T00:00:00Z', ['2024-11-03T05:30:00Z', '2024-11-04T06:30:00Z']],
    // Summer time of one week.
    ['12:00 America/Recife', '2000-10-07T12:00:00Z', ['2000-10-07T15:00:00Z', '2000-10-08T14:00:00Z']],
    // A day that never was.
    ['*-12-30 Pacific/Apia', '2011-01-01T00:00:00Z', ['2012-12-29T10:00:00Z', '2013-12-29T10:00:00Z']],
    ['2100-02-29', '2024-01-01T00:00:00Z', []],
    ['*-02-29 Europe/Oslo', '2096-03-01T00:00:00Z', ['2104-02-28T23:00:00Z', '2108-02-28T23:00:00Z']],
  ])('%s after %s', (expression, base, expected) => {
    expect(nextFive(expression, base).slice(0, 2)).toEqual(expected)
  })

  test('make a time occur twice: who asks in the second pass is told of what is left of it', () => {
    expect(nextFive('*:0/30 Europe/Oslo', '2024-10-27T01:00:00Z').slice(0, 2)).toEqual([
      '2024-10-27T01:30:00Z',
      '2024-10-27T02:00:00Z',
    ])
  })
})

describe('an error', () => {
  test('points at what is wrong, and says what may have been meant', () => {
    const { message, data } = errorOf('*:*/10')
    expect(message.split('\n')).toEqual([
      'The timer cannot be read: a repetition starts from a number, not from *',
      '  *:*/10',
      '     ^ write *:0/10',
    ])
    expect(data).toEqual({ expression: '*:*/10', position: 3, suggestion: '*:0/10' })
  })

  test('shows what is around the place, and nothing that a terminal would obey', () => {
    const long = `${'0,'.repeat(100)}x:00`
    expect(errorOf(long).message.split('\n').slice(1)).toEqual([`  …${'0,'.repeat(25)}x:00`, `  ${' '.repeat(51)}^`])
    expect(errorOf('\u001B[2J\u202E12:00').message.split('\n')[1]).toBe('  ·[2J·12:00')
  })

  test.each([
    ['*:*/10', '*:0/10'],
    ['*/2:00', '0/2:00'],
    ['*-*-*/2', '*-*-1/2'],
    ['*:/5', '*:0/5'],
    ['Sat..Mon', 'Sat,Sun,Mon'],
    ['Sat..Mon 12:00', 'Sat,Sun,Mon 12:00'],
    ['Tues', 'Tue'],
    ['Mon, Tue', 'Mon,Tue'],
    ['Monday Tuesday 9am', 'Mon,Tue 09:00'],
    ['Mon - Fri 12:30pm', 'Mon..Fri 12:30'],
    ['12:00 +01:00', '12:00 Etc/GMT-1'],
    ['12:00 UTC+2', '12:00 Etc/GMT-2'],
    ['12:00-05:00', '12:00 Etc/GMT+5'],
    ['12:00 europe/oslo', '12:00 Europe/Oslo'],
    ['12:00 Europe/Olso', '12:00 Europe/Oslo'],
    ['12:00 Oslo', '12:00 Europe/Oslo'],
    ['12:00 Europ/Oslo', '12:00 Europe/Oslo'],
    ['12:00 Europe/Vienne', '12:00 Europe/Vienna'],
    // Wien is Vienna, and no Kiev.
    ['12:00 Europe/Wien', undefined],
    ['1', '01:00'],
    ['Mon 9', 'Mon 09:00'],
    ['24:00', '00:00'],
    ['Fri 24:00', undefined],
    ['monthly 09:00', '*-*-01 09:00'],
    ['every day 9am', '09:00'],
    ['every weekday 9:30', 'Mon..Fri 9:30'],
    ['Weds,Thurs', 'Wed,Thu'],
    ['sunrise', undefined],
    ['12:00 *-*-1', '*-*-1 12:00'],
    ['09:00 Mon..Fri', 'Mon..Fri 09:00'],
    ['2024-02-29T12:00:00Z', '2024-02-29 12:00:00 UTC'],
    ['20240229', '2024-02-29'],
    ['2024/2/29 12:00', '2024-2-29 12:00'],
    ['*-*~5..1', '*-*~1..5'],
    ['22..6:00', '22..23,0..6:00'],
    ['*-*-~1', '*-*~1'],
    ['12:00,', '12:00'],
    [' daily ', 'daily'],
    ['dayly', 'daily'],
    ['qurtely', 'quarterly'],
    ['@hourly', 'hourly'],
    ['weekdays 9:00', 'Mon..Fri 9:00'],
    ['*/10 * * * *', 'cron:*/10 * * * *'],
    ['0 9 * * MON-FRI', 'cron:0 9 * * MON-FRI'],
    ['25:00', undefined],
    ['never', undefined],
    ['*-*~29', undefined],
  ])('of %j suggests %j, which can be read', (expression, suggestion) => {
    expect(errorOf(expression).data['suggestion']).toBe(suggestion)
    if (suggestion !== undefined) expect(parseTimer(suggestion).next(0)).toBeGreaterThan(0)
  })

  test('is given for what is too long, before it is read', () => {
    const longest = `${'00,'.repeat(timerLimits.listLength - 1)}00:00`
    expect(calendar(longest).normalized).toBe('*-*-* 00:00:00')
    expect(errorOf(`00,${longest}`).message).toMatch(/a list has at most 241 values/)
    expect(errorOf(' '.repeat(timerLimits.expressionLength + 1)).message).toMatch(/at most 1000 characters/)
    for (const other of [5, undefined, null, {}])
      expect(() => calendar(other as string)).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
  })
})
