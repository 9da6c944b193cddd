/** What becomes of a timer that is due, beside a model that walks through every occurrence. */
import { parseTimer } from '@taskstream/task-timers'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fire, firstOf, passOver } from '../../packages/task-scheduler/src/periodic/schedule.ts'
import type { Schedule } from '../../packages/task-scheduler/src/periodic/schedule.ts'
import { externalIdOf, jitterOf, occurrenceOf } from '../../packages/task-scheduler/src/periodic/occurrence.ts'

/** A timer with an occurrence every `step` from `from` to `to`. */
const grid = (step: number, to = Infinity): Schedule['timer'] =>
  ({
    expression: `grid ${step}`,
    zone: 'UTC',
    next: (after: number) => {
      const next = (Math.floor(after / step) + 1) * step
      return next > to ? undefined : next
    },
  }) as Schedule['timer']

const schedule = (step: number, more: Partial<Schedule> = {}): Schedule => ({
  scope: 's',
  id: 'i',
  timer: grid(step),
  misfire: 'once',
  jitterMs: 0,
  fired: 0,
  ...more,
})

const situation = fc.record({
  step: fc.integer({ min: 1, max: 50 }),
  behind: fc.integer({ min: 0, max: 400 }),
  misfire: fc.constantFrom('once', 'skip', 'catch-up', 'drop'),
  lateMs: fc.option(fc.integer({ min: 0, max: 300 }), { nil: undefined }),
  jitterMs: fc.constantFrom(0, 7, 60),
  left: fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined }),
  end: fc.option(fc.integer({ min: 0, max: 500 }), { nil: undefined }),
})

describe('a timer that is due', () => {
  test('submits what its policy says, and moves on', () => {
    fc.assert(
      fc.property(situation, ({ step, behind, misfire, lateMs, jitterMs, left, end: endAfter }) => {
        const first = step * 1_000
        const now = first + jitterMs + behind
        const end = endAfter === undefined ? undefined : first + endAfter
        const row = schedule(step, { misfire, lateMs, jitterMs, maxCount: left, end })
        const submitted: number[] = []
        let occurrence: number | undefined = first
        for (let rounds = 0; occurrence !== undefined && occurrence + jitterOf('s', 'i', occurrence, jitterMs) <= now; rounds++) {
          const firing = fire({ ...row, fired: submitted.length }, occurrence, now, 1)
          submitted.push(...firing.submit)
          // It always gets on.
          if (firing.next) expect(firing.next.occurrence).toBeGreaterThan(firing.submit[0] ?? occurrence)
          else expect(firing.ended).toBeDefined()
          occurrence = firing.next?.occurrence
          expect(rounds).toBeLessThan(1_000)
        }

        const isBounded = misfire === 'skip' || misfire === 'drop'
        const window = (lateMs ?? (isBounded ? 60_000 : Infinity)) + jitterMs
        const all: number[] = []
        for (let each = first; each <= now && each <= (end ?? Infinity); each += step) all.push(each)
        const inTime = all.filter((each) => each >= now - window && each + jitterOf('s', 'i', each, jitterMs) <= now)
        // No two, in order, and each of them an occurrence that is due and not too late.
        expect(submitted).toEqual([...new Set(submitted)].toSorted((left_, right) => left_ - right))
        expect(inTime).toEqual(expect.arrayContaining(submitted))
        expect(submitted.length).toBeLessThanOrEqual(left ?? Infinity)
        if (jitterMs === 0) {
          // Too late, the first takes with it all that were missed.
          const kept = inTime[0] === first ? all : all.filter((each) => each === now)
          const expected = misfire === 'drop' ? kept : misfire === 'catch-up' ? inTime : inTime.slice(0, 1)
          expect(submitted).toEqual(expected.slice(0, left))
        }
      }),
      { numRuns: 2_000 },
    )
  })

  test('comes to the same whether its occurrences are taken one by one or several at once', () => {
    fc.assert(
      fc.property(situation, fc.integer({ min: 1, max: 7 }), ({ step, behind, misfire, lateMs, jitterMs, left, end }, most) => {
        const first = step * 1_000
        const now = first + jitterMs + behind
        const row = schedule(step, { misfire, lateMs, jitterMs, maxCount: left, end: end && first + end })
        const all = (size: number): unknown => {
          const submitted: number[] = []
          for (let occurrence: number | undefined = first; ;) {
            const { submit, next, ended } = fire({ ...row, fired: submitted.length }, occurrence, now, size)
            expect(submit.length).toBeLessThanOrEqual(size)
            submitted.push(...submit)
            if (!next || next.due > now) return { submitted, next, ended }
            occurrence = next.occurrence
          }
        }
        expect(all(most)).toEqual(all(1))
      }),
      { numRuns: 1_000 },
    )
  })

  test('submits all that is due at once, up to this very moment, and no more than it is asked for', () => {
    const row = schedule(10, { misfire: 'catch-up' })
    expect(fire(row, 1_000, 1_020, 9)).toEqual({ submit: [1_000, 1_010, 1_020], next: { occurrence: 1_030, due: 1_030 } })
    expect(fire(row, 1_000, 1_020, 2)).toEqual({ submit: [1_000, 1_010], next: { occurrence: 1_020, due: 1_020 } })
    // Nothing of what is late, though something else is due: that is told by itself.
    expect(fire({ ...row, misfire: 'drop', lateMs: 5 }, 1_000, 1_020, 9)).toEqual({
      submit: [],
      next: { occurrence: 1_020, due: 1_020 },
    })
    expect(fire({ ...row, fired: 5, maxCount: 7 }, 1_000, 1_020, 9)).toEqual({
      submit: [1_000, 1_010],
      ended: 'it has fired 7 times',
    })
  })

  test('is not late while it only waits for its jitter', () => {
    const occurrence = Array.from({ length: 100 }, (_, index) => index * 1_000).find((at) => jitterOf('s', 'i', at, 500) > 400)!
    const due = occurrence + jitterOf('s', 'i', occurrence, 500)
    expect(fire(schedule(1_000, { misfire: 'skip', lateMs: 0, jitterMs: 500 }), occurrence, due, 1).submit).toEqual([occurrence])
  })

  test('is passed over to what comes after now, without counting', () => {
    const row = schedule(10, { maxCount: 1 })
    expect(passOver(row, 1_000, 1_034)).toEqual({ next: { occurrence: 1_040, due: 1_040 } })
    // The clock was set back.
    expect(passOver(row, 1_000, 900)).toEqual({ next: { occurrence: 1_010, due: 1_010 } })
    expect(passOver(schedule(10, { end: 1_035 }), 1_000, 1_034).ended).toBeDefined()
  })

  test('does not fire again what it has fired, when the clock is set back by an hour', () => {
    const hour = 3_600_000
    const firing = fire(schedule(60_000, { misfire: 'catch-up' }), 100 * hour, 100 * hour + 1, 1)
    expect(firing.next!.occurrence).toBe(100 * hour + 60_000)
    // At 99:00 again: what is next is still ahead.
    expect(firing.next!.due).toBeGreaterThan(99 * hour)
  })

  test('does not fire twice for what clocks show twice, however late it is fired', () => {
    // Oslo, 25 October 2026: 02:30 is at 00:30 and at 01:30 UTC.
    const row = schedule(1, { timer: parseTimer('02:30 Europe/Oslo') })
    const first = Date.parse('2026-10-25T00:30:00Z')
    const next = Date.parse('2026-10-26T01:30:00Z')
    for (const late of ['00:30:01', '00:59:59', '01:00:00', '01:29:00', '01:59:00', '03:00:00']) {
      const now = Date.parse(`2026-10-25T${late}Z`)
      expect([late, fire(row, first, now, 1)]).toEqual([late, { submit: [first], next: { occurrence: next, due: next } }])
      expect(passOver(row, first, now).next!.occurrence).toBe(next)
      // Nor for the days before.
      expect(fire(row, first - 3 * 86_400_000, now, 1).next!.occurrence).toBe(next)
      expect(fire({ ...row, lateMs: 0 }, first - 3 * 86_400_000, now, 1).next!.occurrence).toBe(next)
    }
  })

  test('of people in a time zone is passed over to the very next, however much was missed', () => {
    const row = schedule(1, { timer: parseTimer('*:0/20 Europe/Oslo') })
    const at = (time: string): number => Date.parse(`2026-01-05T${time}Z`)
    const next = (from: string, now: string): string =>
      new Date(passOver(row, at(from), at(now)).next!.occurrence).toISOString().slice(11, 16)
    expect(next('08:00:00', '08:10:00')).toBe('08:20')
    expect(next('08:00:00', '08:20:00')).toBe('08:40')
    expect(next('08:00:00', '08:50:00')).toBe('09:00')
    expect(next('01:00:00', '22:20:00')).toBe('22:40')
    expect(next('01:00:00', '22:50:00')).toBe('23:00')
  })

  test('begins with its first occurrence from now on, or from its start on, which counts', () => {
    expect(firstOf(schedule(10), 1_000).next!.occurrence).toBe(1_010)
    expect(firstOf(schedule(10, { start: 2_000 }), 1_000).next!.occurrence).toBe(2_000)
    expect(firstOf(schedule(10, { start: 500 }), 1_000).next!.occurrence).toBe(1_010)
    // What begins at this very moment does so with it.
    expect(firstOf(schedule(10, { start: 1_000 }), 1_000).next!.occurrence).toBe(1_000)
    expect(firstOf(schedule(10, { timer: grid(10, 1_000) }), 1_000).ended).toMatch(/never/)
  })
})

describe('the tasks of a timer', () => {
  test('say which, and which occurrence, whatever its scope and id are', () => {
    const name = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' })
    fc.assert(
      fc.property(name, name, fc.integer({ min: 0, max: 7e12 }), (scope, id, at) => {
        const externalId = externalIdOf(scope, id, at)
        expect(occurrenceOf({ topic: 't', sequence: 1, identifier: 'i', externalId })).toEqual({ scope, id, at: new Date(at) })
      }),
    )
  })

  test('are told apart from those of other timers', () => {
    const names = fc.tuple(
      fc.string({ maxLength: 5, unit: fc.constantFrom('a', '/', ':', '1') }),
      fc.string({ maxLength: 5, unit: fc.constantFrom('a', '/', ':', '1') }),
    )
    fc.assert(
      fc.property(names, names, (left, right) => {
        fc.pre(left[0] !== right[0] || left[1] !== right[1])
        expect(externalIdOf(...left, 0)).not.toBe(externalIdOf(...right, 0))
      }),
      { numRuns: 2_000 },
    )
  })

  test('that nobody submitted for a timer are of none', () => {
    for (const externalId of [
      undefined,
      '',
      'timer:',
      'timer:3:abc',
      'timer:3:abc/x',
      'timer:3:abc/x@',
      'timer:9:abc/x@2026',
      'order-7',
    ])
      expect(
        occurrenceOf({ topic: 't', sequence: 1, identifier: 'i', ...(externalId !== undefined && { externalId }) }),
      ).toBeUndefined()
  })

  test.each([
    ['system', 'report', 0, 86_400_000, 53_613_120],
    ['system', 'report', 3_600_000, 86_400_000, 24_862_068],
    ['acme/ann', 'häagen 🍦', Date.UTC(2026, 0, 5, 9), 60_000, 39_010],
    ['system', 'report', 0, 1, 1],
    ['system', 'report', 3_600_000, 1, 0],
    ['system', 'report', 0, 0, 0],
  ])('are late by the same jitter in every release, as nodes of several look at one timer: %s %s %i %i', (...given) => {
    const [scope, id, occurrence, jitterMs, expected] = given
    expect(jitterOf(scope, id, occurrence, jitterMs)).toBe(expected)
  })

  test('are spread over the whole of their jitter', () => {
    const found = Array.from({ length: 2_000 }, (_, index) => jitterOf('s', 'i', index * 1_000, 9))
    for (let value = 0; value <= 9; value++) expect(found.filter((each) => each === value).length).toBeGreaterThan(120)
  })
})
