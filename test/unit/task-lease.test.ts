/** What proves that a task is held: nobody but its maker reads it. */
import { expect, test } from 'vitest'
import { attemptOf, isHeld, isLease, toLease } from '../../packages/task-sql/src/core/lease.ts'

const ways = ['active', 'staged', 'locked', 'ranged'] as const

test('a lease says by which attempt a task is held, and in which way, through JSON too', () => {
  for (const attempt of [1, 2, 3, 4_000_000, 2 ** 40]) {
    for (const way of ways) {
      const lease = JSON.parse(JSON.stringify(toLease(attempt, way))) as unknown
      if (!isLease(lease)) throw new Error(`${way} by attempt ${attempt} is no lease`)
      expect([attemptOf({ lease }), ...ways.map((one) => isHeld({ lease }, one))]).toEqual([
        attempt,
        ...ways.map((one) => one === way),
      ])
    }
  }
})

test('what no poll has given is no lease', () => {
  for (const value of [undefined, null, '', '4', -4, 4.5, Number.NaN, {}]) expect([value, isLease(value)]).toEqual([value, false])
})
