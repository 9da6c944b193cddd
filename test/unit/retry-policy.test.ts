/** A retry policy says how long to wait, within its limits. */
import type { HeldTask, TaskLease } from '@taskstream/task-api'
import { byError, exponential, fixed, linear, never } from '@taskstream/task-processor'
import type { RetryPolicy } from '@taskstream/task-processor'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'

const tried = (tries: number): HeldTask => ({
  topic: 't',
  sequence: 1,
  identifier: 'a',
  lease: tries as unknown as TaskLease,
  attempt: tries,
  tries,
  priority: 0,
})

test('pauses grow by the factor up to the longest, and end with the tries', () => {
  const policy = exponential({ tries: 5, firstMs: 100, factor: 3, maxMs: 1_000, jitter: 0 })
  expect([1, 2, 3, 4, 5, 6].map((tries) => policy(tried(tries), undefined))).toEqual([100, 300, 900, 1_000, undefined, undefined])
})

test('chance takes no more than its share of a pause', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 30 }), fc.double({ min: 0, max: 1, noNaN: true }), (tries, jitter) => {
      const pause = exponential({ tries: 100, firstMs: 10, maxMs: 60_000, jitter })(tried(tries), undefined)!
      const full = Math.min(60_000, 10 * 2 ** (tries - 1))
      return Number.isInteger(pause) && pause <= full && pause >= Math.floor(full * (1 - jitter))
    }),
  )
})

test('a policy that is none is refused', () => {
  const bad = [
    { tries: 0, firstMs: 1 },
    { tries: 1.5, firstMs: 1 },
    { tries: 1, firstMs: -1 },
    { tries: 1, firstMs: 1, factor: 0.5 },
    { tries: 1, firstMs: 1, jitter: 2 },
  ]
  for (const options of bad) expect(() => exponential(options)).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
})

test('pauses stay the same, or grow by a step up to the longest', () => {
  const pauses = (policy: RetryPolicy): unknown[] => [1, 2, 3, 4, 5].map((tries) => policy(tried(tries), undefined))
  expect(pauses(fixed({ tries: 4, afterMs: 100, jitter: 0 }))).toEqual([100, 100, 100, undefined, undefined])
  expect(pauses(linear({ tries: 5, firstMs: 100, stepMs: 50, maxMs: 190, jitter: 0 }))).toEqual([100, 150, 190, 190, undefined])
  expect(pauses(linear({ tries: 3, firstMs: 100, jitter: 0 }))).toEqual([100, 200, undefined, undefined, undefined])
  expect(pauses(never)).toEqual([undefined, undefined, undefined, undefined, undefined])
})

test('the class of an error, or of what caused it, decides on its policy', () => {
  class RateLimited extends Error {}
  const policy = byError(
    [
      [RateLimited, fixed({ tries: 9, afterMs: 1, jitter: 0 })],
      [TypeError, never],
    ],
    fixed({ tries: 9, afterMs: 3, jitter: 0 }),
  )
  const endless = new Error('its own cause')
  endless.cause = endless
  expect(policy(tried(1), new RateLimited())).toBe(1)
  expect(policy(tried(1), new TypeError())).toBeUndefined()
  expect(policy(tried(1), new Error('wrapped', { cause: new RateLimited() }))).toBe(1)
  for (const other of [new Error('other'), endless, 'text', undefined]) expect(policy(tried(1), other)).toBe(3)
  expect(byError([[RateLimited, fixed({ tries: 9, afterMs: 1 })]])(tried(1), new Error('other'))).toBeUndefined()
})

test('rules that are none are refused', () => {
  const wrong: (() => unknown)[] = [
    () => fixed({ tries: 0, afterMs: 1 }),
    () => fixed({ tries: 1, afterMs: -1 }),
    () => linear({ tries: 1, firstMs: 1, stepMs: -1 }),
    () => linear({ tries: 1, firstMs: 1, jitter: Number.NaN }),
    () => byError([['Error', never]] as never),
    () => byError([[Error, { tries: 1 }]] as never),
  ]
  for (const make of wrong) expect(make).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
})

test('a first pause above the longest is refused, the default of an hour included', () => {
  for (const policy of [exponential, linear])
    for (const wrong of [{ firstMs: 101, maxMs: 100 }, { firstMs: 3_600_001 }])
      expect(() => policy({ tries: 3, ...wrong })).toThrow(
        expect.objectContaining({ code: 'ARGUMENT_INVALID', data: expect.objectContaining({ argument: 'firstMs' }) }),
      )
  expect(exponential({ tries: 3, firstMs: 100, maxMs: 100, jitter: 0 })({ tries: 1 }, new Error('no'))).toBe(100)
})

test('a policy without a first pause goes on to its last try', () => {
  expect(exponential({ tries: 32_767, firstMs: 0, jitter: 0 })(tried(1_025), undefined)).toBe(0)
})
