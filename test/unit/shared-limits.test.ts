/** What a process believes of its slots is never more than the database has noted for it, whatever was answered, and in whatever order. */
import type { SlotGrant, SlotWish } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import type { Dispatcher } from '../../packages/task-processor/src/core/dispatcher.ts'
import { SharedLimits } from '../../packages/task-processor/src/polling/shared-limits.ts'

/** A database that others leave `free` slots, and that answers, or commits and does not answer. */
function sharing(): {
  readonly limits: SharedLimits<object>
  readonly asked: SlotWish[]
  readonly clock: { nowMs: number }
  free: number
  answer: () => Promise<void>
} {
  const asked: SlotWish[] = []
  const clock = { nowMs: 0 }
  const repository = {
    takeSlots: async (_: object, __: string, wish: SlotWish): Promise<SlotGrant> => {
      asked.push(wish)
      const slots = Math.max(wish.held, Math.min(wish.wanted, shared.free))
      await shared.answer()
      return { slots }
    },
  }
  const dispatcher = { once: (work: (transaction: object) => unknown) => work({}) } as unknown as Dispatcher<object>
  const limits = new SharedLimits<object>({
    topic: 'mail',
    repository: repository as never,
    dispatcher,
    clock: { monotonicMs: () => clock.nowMs },
  })
  limits.set({ total: 6 })
  const shared = { limits, asked, clock, free: 6, answer: async () => {} }
  return shared
}

describe('a process that takes slots', () => {
  test('asks again before it polls, if it was not answered', async () => {
    const shared = sharing()
    expect(await shared.limits.room(0, 5)).toBe(5)
    // Others have come, and the answer that says so is lost.
    shared.free = 3
    shared.answer = () => Promise.reject(new Error('lost'))
    await expect(shared.limits.room(1, 5)).rejects.toThrow('lost')
    shared.answer = async () => {}
    expect(await shared.limits.room(0, 5)).toBe(3)
  })

  test('gives back what it was not told of', async () => {
    const shared = sharing()
    shared.answer = () => Promise.reject(new Error('lost'))
    await expect(shared.limits.room(0, 5)).rejects.toThrow('lost')
    shared.answer = async () => {}
    await shared.limits.leave(() => 0)
    expect(shared.asked.at(-1)).toEqual({ held: 0, wanted: 0 })
    await shared.limits.leave(() => 0)
    expect(shared.asked).toHaveLength(2)
  })

  test('wants none any more when it leaves, though it had got none', async () => {
    const shared = sharing()
    shared.free = 0
    expect(await shared.limits.room(0, 5)).toBe(0)
    await shared.limits.leave(() => 0)
    expect(shared.asked.at(-1)).toEqual({ held: 0, wanted: 0 })
    await shared.limits.leave(() => 0)
    expect(shared.asked).toHaveLength(2)
  })

  test('gives nothing back that a loop uses which was started meanwhile', async () => {
    const shared = sharing()
    const { promise, resolve } = Promise.withResolvers<void>()
    expect(await shared.limits.room(0, 2)).toBe(2)
    let isUsed = false
    shared.answer = () => promise
    shared.clock.nowMs += 1_000
    const room = shared.limits.room(0, 4)
    isUsed = true
    const left = shared.limits.leave(() => (isUsed ? undefined : 0))
    resolve()
    expect(await room).toBe(4)
    await left
    expect(shared.asked).toEqual([
      { held: 0, wanted: 2 },
      { held: 0, wanted: 4 },
    ])
  })

  test('asks anew if what it had was being given back', async () => {
    const shared = sharing()
    expect(await shared.limits.room(0, 4)).toBe(4)
    const left = shared.limits.leave(() => 0)
    expect(await shared.limits.room(0, 4)).toBe(4)
    await left
    expect(shared.asked.at(-1)).toEqual({ held: 0, wanted: 4 })
  })

  test('keeps what it holds only, while it may handle no more', async () => {
    const shared = sharing()
    expect(shared.limits.restAfterMs(0)).toBe(Infinity)
    expect(await shared.limits.room(0, 5)).toBe(5)
    expect(shared.limits.restAfterMs(2)).toBe(1_000)
    shared.clock.nowMs += 1_000
    expect(shared.limits.restAfterMs(5)).toBe(Infinity)
    await shared.limits.rest(5)
    expect(shared.asked).toHaveLength(1)
    expect(shared.limits.restAfterMs(2)).toBe(0)
    await shared.limits.rest(2)
    expect(shared.asked.at(-1)).toEqual({ held: 2, wanted: 2 })
    expect(await shared.limits.room(1, 5)).toBe(5)
  })
})
