/** Jobs that are handled at a time are limited, and quick handlers have the next jobs at hand. */
import type { HandlerContext } from '@taskstream/task-processor'
import { testClock } from '@taskstream/task-testing'
import { defineJob } from 'taskstream'
import { describe, expect, test } from 'vitest'
import { jobHandler } from '../../packages/task-jobs/src/handling/handle-job.ts'
import { InProcess } from '../../packages/task-jobs/src/jobs/in-process.ts'
import { taskOf } from './answering.ts'
import { JobSlots } from '../../packages/task-jobs/src/handling/job-slots.ts'

describe('the slots of a definition', () => {
  test('are taken in the order in which they are asked for', async () => {
    const clock = testClock(new Date())
    const slots = new JobSlots(2, true)
    const taken: string[] = []
    const take = async (name: string): Promise<void> => {
      if (await slots.take(clock)) taken.push(name)
    }
    const all = ['a', 'b', 'c', 'd'].map(take)
    await Promise.resolve()
    await Promise.resolve()
    expect(taken).toEqual(['a', 'b'])
    expect([slots.busy, slots.concurrency]).toEqual([2, 2])
    slots.free()
    await all[2]
    expect(taken).toEqual(['a', 'b', 'c'])
    slots.free()
    await all[3]
    slots.free()
    slots.free()
    await Promise.all(['e', 'f'].map(take))
    expect(taken).toEqual(['a', 'b', 'c', 'd', 'e', 'f'])
  })

  test('let as many jobs wait as take fifty milliseconds, five hundred at most, and none before the first has ended', async () => {
    const clock = testClock(new Date())
    const taking = async (ms: number, isAhead = true): Promise<number> => {
      const slots = new JobSlots(10, isAhead)
      expect(slots.capacity).toBe(10)
      await slots.measured(clock, async () => clock.advance(ms))
      return slots.capacity
    }
    expect(await taking(50)).toBe(20)
    expect(await taking(5)).toBe(110)
    expect(await taking(501)).toBe(10)
    expect(await taking(0)).toBe(510)
    expect(await taking(5, false)).toBe(10)
  })

  test('let fewer wait once jobs take longer', async () => {
    const clock = testClock(new Date())
    const slots = new JobSlots(10, true)
    const job = (ms: number): Promise<void> => slots.measured(clock, async () => clock.advance(ms))
    await job(5)
    for (let count = 0; count < 60; count++) await job(5_000)
    expect(slots.capacity).toBe(10)
  })

  test('are not waited for longer than a second, after which none is polled ahead until handlers end again', async () => {
    const clock = testClock(new Date())
    const slots = new JobSlots(2, true)
    await slots.measured(clock, async () => clock.advance(1))
    expect(slots.capacity).toBe(102)
    expect([await slots.take(clock), await slots.take(clock)]).toEqual([true, true])
    const third = slots.take(clock)
    clock.advance(999)
    const fourth = slots.take(clock)
    clock.advance(1)
    expect([await third, slots.capacity]).toEqual([false, 2])
    slots.free()
    expect(await fourth).toBe(true)
    // The slot of the one that gave up was not counted.
    slots.free()
    slots.free()
    expect([await slots.take(clock), await slots.take(clock)]).toEqual([true, true])
    for (let count = 0; count < 60; count++) await slots.measured(clock, async () => clock.advance(1))
    expect(slots.capacity).toBeGreaterThan(30)
  })

  test('measure a job that fails, too', async () => {
    const clock = testClock(new Date())
    const slots = new JobSlots(10, true)
    const failing = slots.measured(clock, async () => {
      clock.advance(50)
      throw new Error('fails')
    })
    await expect(failing).rejects.toThrow('fails')
    expect(slots.capacity).toBe(20)
  })
})

test('a job behind a handler that hangs is given back after a second, with its try', async () => {
  const clock = testClock(new Date())
  const job = defineJob('hangs')
  const environment = {
    repository: { push: () => [], depend: () => {} },
    process: new InProcess(),
    needed: () => Promise.resolve([]),
  }
  const { handle, slots } = jobHandler<object, 'hangs', void, void, never>(environment, job, () => new Promise(() => {}), {
    concurrency: 1,
    ahead: true,
  }).open('hangs')
  const context = { clock, aborted: undefined } as unknown as HandlerContext<object>
  const [first, second] = [taskOf('a', 1), taskOf('b', 2)]
  void handle([first], context)
  const behind = handle([second], context)
  expect(slots).toMatchObject({ busy: 1, concurrency: 1 })
  clock.advance(1_000)
  const decisions = await behind
  expect(decisions?.get(second)).toMatchObject({ result: 'suspension', retryAfterMs: 0, refunded: true })
})
