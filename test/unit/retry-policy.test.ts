import type { HeldTask, TaskLease } from '@taskstream/task-api'
import { exponential } from '@taskstream/task-processor'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'

const tried = (tries: number): HeldTask => ({
  topic: 't',
  sequence: 1,
  identifier: 'a',
  lease: tries as TaskLease,
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
