/** A retry policy says how long to wait, within its limits. */
import type { HeldTask, TaskLease } from '@taskstream/task-api'
import { byError, exponential, fixed, linear, never, steps } from '@taskstream/task-processor'
import type { Jitter, RetryPolicy } from '@taskstream/task-processor'
import * as fc from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => vi.restoreAllMocks())

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

test('a chance that is given is the one that counts, in every policy and through byError', () => {
  const policies = [
    fixed({ tries: 9, afterMs: 1_000 }),
    linear({ tries: 9, firstMs: 1_000 }),
    exponential({ tries: 9, firstMs: 1_000 }),
    steps({ tries: 9, minMs: 1_000, maxMs: 2_000, steps: 2 }),
  ]
  for (const policy of [...policies, ...policies.map((each) => byError([], each))])
    expect([0, 0.5].map((draw) => policy(tried(1), 'no', draw))).toEqual([1_000, 900])
})

test('pauses grow in equal steps from the shortest to the longest, which is repeated', () => {
  const policy = steps({ tries: 7, minMs: 100, maxMs: 400, steps: 3, jitter: 0 })
  expect([1, 2, 3, 4, 5, 6, 7].map((tries) => policy(tried(tries), undefined))).toEqual([100, 200, 300, 400, 400, 400, undefined])
  const same = steps({ tries: 9, minMs: 500, maxMs: 500, steps: 4, jitter: 0 })
  expect([1, 5, 8].map((tries) => same(tried(tries), undefined))).toEqual([500, 500, 500])
})

test.each([
  ['10m', { minMs: 60_000, maxMs: 600_000, steps: 50, jitter: [0.9, 1.9] }],
  ['1h', { minMs: 600_000, maxMs: 3_600_000, steps: 20, jitter: [0.9, 1.9] }],
  ['1m', { minMs: 1_000, maxMs: 60_000, steps: 20, jitter: [0.5, 1.5] }],
] as const)('the table %s of asyncjobs is one of steps', (_, table) => {
  const policy = steps({ tries: 1_000, ...table })
  const random = vi.spyOn(Math, 'random')
  const pauses = (chance: number): unknown[] => {
    random.mockReturnValue(chance)
    return Array.from({ length: table.steps + 3 }, (__, index) => policy(tried(index + 1), undefined))
  }
  const { minMs, maxMs, steps: count } = table
  // requirements 03, §17: interval[i] = min + i * (max - min) / steps, and a pause of d is d * jitter + [0, d).
  const formula = Array.from({ length: count + 3 }, (__, index) => minMs + (Math.min(index, count) * (maxMs - minMs)) / count)
  expect(formula.slice(-3)).toEqual([maxMs, maxMs, maxMs])
  expect(pauses(0)).toEqual(formula.map((d) => Math.round(d * table.jitter[0] + d)))
  expect(pauses(1)).toEqual(formula.map((d) => Math.round(d * table.jitter[0])))
  expect(pauses(0.5)).toEqual(formula.map((d) => Math.round(d * table.jitter[0] + d / 2)))
})

test('two factors are the bounds of chance in every policy, and a number is the share that it may take', () => {
  const policies = (jitter: Jitter): RetryPolicy[] => [
    fixed({ tries: 9, afterMs: 1_000, jitter }),
    linear({ tries: 9, firstMs: 1_000, maxMs: 1_000, jitter }),
    exponential({ tries: 9, firstMs: 1_000, maxMs: 1_000, jitter }),
    steps({ tries: 9, minMs: 1_000, maxMs: 1_000, steps: 1, jitter }),
  ]
  const random = vi.spyOn(Math, 'random')
  const bounds = (jitter: Jitter): unknown[] =>
    policies(jitter).map((policy) =>
      [1, 0].map((chance) => {
        random.mockReturnValue(chance)
        return policy(tried(2), undefined)
      }),
    )
  const each = (bound: readonly number[]): unknown[] => [bound, bound, bound, bound]
  expect(bounds([0.9, 1.9])).toEqual(each([900, 1_900]))
  expect(bounds([0, 10])).toEqual(each([0, 10_000]))
  expect(bounds([1, 1])).toEqual(each([1_000, 1_000]))
  expect(bounds(0.3)).toEqual(each([700, 1_000]))
  expect(bounds(1)).toEqual(each([0, 1_000]))
})

test('no factor makes a pause longer than a task can wait', () => {
  const century = 3_153_600_000_000
  expect(fixed({ tries: 2, afterMs: century, jitter: [10, 10] })(tried(1), undefined)).toBe(century)
})

const step = { tries: 3, minMs: 10, maxMs: 20, steps: 2 }

test.each<[() => unknown, string, RegExp]>([
  [() => fixed(undefined as never), 'options', /of fixed must be an object/],
  [() => steps(5 as never), 'options', /of steps must be an object/],
  [() => fixed({ tries: 0, afterMs: 1 }), 'tries', /from 1 to 32767/],
  [() => fixed({ tries: 1, afterMs: -1 }), 'afterMs', /from 0 to/],
  [() => linear({ tries: 1, firstMs: 1, stepMs: -1 }), 'stepMs', /from 0 to/],
  [() => linear({ tries: 1, firstMs: 1, maxMs: Infinity }), 'maxMs', /whole number/],
  [() => exponential({ tries: 1, firstMs: 1, factor: '2' as never }), 'factor', /from 1 to 100/],
  [() => exponential({ tries: 1, firstMs: 1, factor: 101 }), 'factor', /from 1 to 100/],
  [() => linear({ tries: 1, firstMs: 1, jitter: Number.NaN }), 'jitter', /from 0 to 1/],
  [() => fixed({ tries: 1, afterMs: 1, jitter: 1.5 }), 'jitter', /from 0 to 1/],
  [() => fixed({ tries: 1, afterMs: 1, jitter: '0.5' as never }), 'jitter', /from 0 to 1/],
  [() => fixed({ tries: 1, afterMs: 1, jitter: [0.5] as never }), 'jitter', /two factors/],
  [() => fixed({ tries: 1, afterMs: 1, jitter: [0.5, 1, 2] as never }), 'jitter', /two factors/],
  [() => fixed({ tries: 1, afterMs: 1, jitter: [-0.1, 1] }), 'jitter[0]', /from 0 to 10/],
  [() => fixed({ tries: 1, afterMs: 1, jitter: [0, 10.1] }), 'jitter[1]', /from 0 to 10/],
  [() => fixed({ tries: 1, afterMs: 1, jitter: [0, '1'] as never }), 'jitter[1]', /from 0 to 10/],
  [() => fixed({ tries: 1, afterMs: 1, jitter: [1.9, 0.9] }), 'jitter[0]', /must not be above jitter\[1\], which is 0.9/],
  [() => steps({ ...step, tries: 40_000 }), 'tries', /from 1 to 32767/],
  [() => steps({ ...step, minMs: 0.5 }), 'minMs', /whole number/],
  [() => steps({ ...step, maxMs: undefined as never }), 'maxMs', /whole number/],
  [() => steps({ ...step, minMs: 21 }), 'minMs', /must not be above maxMs, which is 20/],
  [() => steps({ ...step, steps: 0 }), 'steps', /from 1 to 32767/],
  [() => steps({ ...step, steps: 1.5 }), 'steps', /from 1 to 32767/],
  [() => byError({} as never), 'rules', /list of \[class of errors, policy\]/],
  [() => byError([[Error, never], Error] as never), 'rules[1]', /must be \[class of errors, policy\]/],
  [() => byError([['Error', never]] as never), 'rules[0][0]', /a class of errors/],
  [() => byError([[Error, { tries: 1 }]] as never), 'rules[0][1]', /must be a policy/],
  [() => byError([], 5 as never), 'otherwise', /must be a policy/],
])('a parameter out of range is refused by its name, case %#', (make, argument, message) => {
  expect(make).toThrow(message)
  expect(make).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID', data: expect.objectContaining({ argument }) }))
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
