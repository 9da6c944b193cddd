/** Jobs that are handled at a time are limited, and quick handlers have the next jobs at hand. */
import { TaskError } from '@taskstream/task-api'
import type { HandlerContext, OpenHandler } from '@taskstream/task-processor'
import { testClock } from '@taskstream/task-testing'
import { defineJob } from 'taskstream'
import type { JobHandler } from 'taskstream'
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
      if (slots.take() || (await slots.wait(clock))) taken.push(name)
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

  test('let as many jobs wait as take fifty milliseconds, five hundred at most, and none before the first has ended', () => {
    const taking = (ms: number, isAhead = true): number => {
      const slots = new JobSlots(10, isAhead)
      expect(slots.capacity).toBe(10)
      slots.took(ms)
      return slots.capacity
    }
    expect(taking(50)).toBe(20)
    expect(taking(5)).toBe(110)
    expect(taking(501)).toBe(10)
    expect(taking(0)).toBe(510)
    expect(taking(5, false)).toBe(10)
  })

  test('let fewer wait once jobs take longer', () => {
    const slots = new JobSlots(10, true)
    slots.took(5)
    for (let count = 0; count < 60; count++) slots.took(5_000)
    expect(slots.capacity).toBe(10)
  })

  test('are not waited for longer than a second, after which none is polled ahead until handlers end again', async () => {
    const clock = testClock(new Date())
    const slots = new JobSlots(2, true)
    slots.took(1)
    expect(slots.capacity).toBe(102)
    expect([slots.take(), slots.take(), slots.take()]).toEqual([true, true, false])
    const third = slots.wait(clock)
    clock.advance(999)
    const fourth = slots.wait(clock)
    clock.advance(1)
    expect([await third, slots.capacity]).toEqual([false, 2])
    slots.free()
    expect(await fourth).toBe(true)
    // The slot of the one that gave up was not counted.
    slots.free()
    slots.free()
    expect([slots.take(), slots.take(), slots.take()]).toEqual([true, true, false])
    for (let count = 0; count < 60; count++) slots.took(1)
    expect(slots.capacity).toBeGreaterThan(30)
  })
})

/** A handler of jobs that has not begun, with nothing around it. */
function opened(handle: JobHandler<object, 'job', void, never>, ahead = true): OpenHandler<object> {
  const environment = {
    repository: { push: () => [], depend: () => {} },
    process: new InProcess(),
    needed: () => Promise.resolve([]),
  }
  return jobHandler<object, 'job', void, void, never>(environment, defineJob('job'), handle, { concurrency: 1, ahead }).open(
    'job',
  )
}

test('a job that fails counts for how many are polled ahead, too', async () => {
  const clock = testClock(new Date())
  const handler = opened(() => {
    clock.advance(25)
    throw new Error('fails')
  })
  const context = { clock, aborted: undefined } as unknown as HandlerContext<object>
  await expect(handler.handle([taskOf('a', 1)], context)).rejects.toThrow('fails')
  expect([handler.slots?.busy, handler.capacity]).toEqual([0, 3])
})

test('a handler may spread its job, and has its signal', async () => {
  const clock = testClock(new Date())
  const reason = new TaskError('SHUTDOWN', 'The node stops')
  const context = { clock, aborted: undefined, signal: AbortSignal.abort(reason) } as unknown as HandlerContext<object>
  const signals: AbortSignal[] = []
  await opened((job) => void signals.push({ ...job }.signal)).handle([taskOf('a', 1)], context)
  expect(signals.map((signal) => signal.reason as unknown)).toEqual([reason])
})

test('a job behind a handler that hangs is given back after a second, with its try', async () => {
  const clock = testClock(new Date())
  const { handle, slots } = opened(() => new Promise(() => {}))
  const context = { clock, aborted: undefined } as unknown as HandlerContext<object>
  const [first, second] = [taskOf('a', 1), taskOf('b', 2)]
  void handle([first], context)
  const behind = handle([second], context)
  expect(slots).toMatchObject({ busy: 1, concurrency: 1 })
  clock.advance(1_000)
  const decisions = await behind
  expect(decisions?.get(second)).toMatchObject({ result: 'suspension', retryAfterMs: 0, refunded: true })
})
