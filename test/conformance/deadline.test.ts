import { TaskDecision } from '@taskstream/task-api'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { codeOf, names, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

describe.skipIf(!canRun)('a deadline', () => {
  let it: Fixture
  const clock = { now: Date.UTC(2026, 0, 1) }
  beforeAll(async () => void (it = await openFixture(() => new Date(clock.now))))
  afterAll(() => it[Symbol.asyncDispose]())
  const topics = [{}, { order: 'lifo' }, { order: 'priority' }, { condition: 'singular-by-identifier' }] as const

  test.each(topics)('that has passed filters the task instead of handing it out: %o', async (options) => {
    await it.nextTopic(options)
    await it.push(
      { identifier: 'late', deadlineMs: 10 },
      { identifier: 'late', deadline: new Date(clock.now + 20) },
      { identifier: 'in time', deadlineMs: 1_000 },
      'without',
    )
    clock.now += 20
    const held = await it.poll(2)
    expect(names(held).toSorted()).toEqual(['in time', 'without'])
    expect(held.find(({ identifier }) => identifier === 'in time')?.deadline).toEqual(new Date(clock.now - 20 + 1_000))
    expect(await it.poll(9)).toEqual([])
    const late = (await it.page()).filter(({ identifier }) => identifier === 'late')
    expect(late).toMatchObject([
      { state: 'filtered', reason: 'deadline' },
      { state: 'filtered', reason: 'deadline' },
    ])
    expect(late[0]?.completed).toEqual(new Date(clock.now))
    await it.complete(held)
  })

  test('is not held against a task that is polled in time, nor reported once it is reset', async () => {
    await it.nextTopic()
    await it.push({ identifier: 'a', deadlineMs: 10 })
    const held = await it.poll(1)
    clock.now += 20
    expect((await it.complete(held, TaskDecision.failure())).lost).toEqual([])
    await it.commit((transaction) => it.tasks.recreate(transaction, it.topic, 'reset', held))
    expect(names(await it.poll(1))).toEqual(['a'])
  })

  test('counts for a retry too', async () => {
    await it.nextTopic()
    await it.push({ identifier: 'a', deadlineMs: 10 })
    await it.complete(await it.poll(1), TaskDecision.retry({ afterMs: 20 }))
    clock.now += 20
    await it.commit((transaction) => it.tasks.release(transaction, it.topic))
    expect(await it.poll(1)).toEqual([])
    expect(await it.states()).toEqual({ filtered: 1 })
  })

  test('lets the next of its identifier go on', async () => {
    await it.nextTopic({ condition: 'singular-by-identifier' })
    await it.push({ identifier: 'a', deadlineMs: 10 }, { identifier: 'a', input: 'next' })
    clock.now += 20
    expect(await it.poll(1)).toMatchObject([{ input: 'next' }])
  })

  test('is given once, and as an instant', async () => {
    for (const creation of [
      { identifier: 'a', deadlineMs: -1 },
      { identifier: 'a', deadlineMs: 1, deadline: new Date() },
      { identifier: 'a', deadline: new Date('never') },
    ])
      expect(await codeOf(() => it.push(creation))).toBe('ARGUMENT_INVALID')
  })
})
