/** What is left to chance where nothing is said of it. */
import { exponential, fixed, linear, steps } from '@taskstream/task-processor'
import { afterEach, expect, test, vi } from 'vitest'
import { checkPeriodicTask } from '../../packages/task-scheduler/src/periodic/definition.ts'

afterEach(() => vi.restoreAllMocks())

test.each([
  ['fixed', () => fixed({ tries: 9, afterMs: 1_000 })],
  ['linear', () => linear({ tries: 9, firstMs: 500 })],
  ['exponential', () => exponential({ tries: 9, firstMs: 500 })],
  ['steps', () => steps({ tries: 9, minMs: 500, maxMs: 1_500, steps: 2 })],
] as const)('a fifth of each pause is left to chance by %s, and what comes of it is never longer than was said', (_, policy) => {
  const random = vi.spyOn(Math, 'random')
  const pause = (chance: number): number | undefined => {
    random.mockReturnValue(chance)
    return policy()({ tries: 2 } as never, new Error('once more'))
  }
  expect([0, 0.25, 0.5, 1 - Number.EPSILON].map(pause)).toEqual([1_000, 950, 900, 800])
})

test('nothing of the time of a timer is left to chance', () => {
  expect(checkPeriodicTask({ id: 'a', topic: 'a', timer: 'daily' }).definition.jitterMs).toBe(0)
})
