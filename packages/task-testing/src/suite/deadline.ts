/** A task that is past its deadline is filtered, and no poll returns it. */
import { TaskDecision } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { codeOf, names, openFixture, whileTested } from './fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

export const deadline: Part = part('a deadline', (engine) => {
  const clock = { now: Date.UTC(2026, 0, 1) }
  const fixture = whileTested(() => openFixture(engine, () => new Date(clock.now)))
  const topics = [{}, { order: 'lifo' }, { order: 'priority' }, { condition: 'singular-by-identifier' }] as const

  test.each(topics)('that has passed filters the task instead of handing it out: %o', async (options) => {
    await fixture.nextTopic(options)
    await fixture.push(
      { identifier: 'late', deadlineMs: 10 },
      { identifier: 'late', deadline: new Date(clock.now + 20) },
      { identifier: 'in time', deadlineMs: 1_000 },
      'without',
    )
    clock.now += 20
    const held = await fixture.poll(2)
    expect(names(held).toSorted()).toEqual(['in time', 'without'])
    expect(held.find(({ identifier }) => identifier === 'in time')?.deadline).toEqual(new Date(clock.now - 20 + 1_000))
    expect(await fixture.poll(9)).toEqual([])
    const late = (await fixture.page()).filter(({ identifier }) => identifier === 'late')
    expect(late).toMatchObject([
      { state: 'filtered', reason: 'deadline' },
      { state: 'filtered', reason: 'deadline' },
    ])
    expect(late[0]?.completed).toEqual(new Date(clock.now))
    await fixture.complete(held)
  })

  test.each(topics)('that has passed makes room for another task, and for no more than were asked for: %o', async (options) => {
    await fixture.nextTopic(options)
    await fixture.push({ identifier: 'late', deadlineMs: 10 }, 'a', 'b', 'c')
    clock.now += 20
    // Last in first out, the first two are not late.
    const first = await fixture.poll(2)
    expect(first).toHaveLength(2)
    expect(await fixture.poll(2)).toHaveLength(1)
    expect(await fixture.states()).toEqual({ active: 3, filtered: 1 })
  })

  test('is not held against a task that is polled in time, nor reported once it is reset', async () => {
    await fixture.nextTopic()
    await fixture.push({ identifier: 'a', deadlineMs: 10 })
    const held = await fixture.poll(1)
    clock.now += 20
    expect((await fixture.complete(held, TaskDecision.failure())).lost).toEqual([])
    await fixture.commit((transaction) => fixture.tasks.recreate(transaction, fixture.topic, 'reset', held))
    expect(names(await fixture.poll(1))).toEqual(['a'])
  })

  test('counts for a retry too', async () => {
    await fixture.nextTopic()
    await fixture.push({ identifier: 'a', deadlineMs: 10 })
    await fixture.complete(await fixture.poll(1), TaskDecision.retry({ afterMs: 20 }))
    clock.now += 20
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    expect(await fixture.poll(1)).toEqual([])
    expect(await fixture.states()).toEqual({ filtered: 1 })
  })

  test('lets the next of its identifier go on', async () => {
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    await fixture.push({ identifier: 'a', deadlineMs: 10 }, { identifier: 'a', input: 'next' })
    clock.now += 20
    expect(await fixture.poll(1)).toMatchObject([{ input: 'next' }])
  })

  test.each(['lease', 'transaction'] as const)('counts the try of a poll that holds by %s', async (hold) => {
    await fixture.nextTopic(hold === 'transaction' ? { record: 'states' } : {})
    await fixture.push({ identifier: 'a', deadlineMs: 5 })
    clock.now += 6
    expect(await fixture.commit((transaction) => fixture.tasks.poll(transaction, fixture.topic, { hold }))).toEqual([])
    expect(await fixture.page()).toMatchObject([{ state: 'filtered', reason: 'deadline', attempt: 1, tries: 1 }])
  })

  test('is given once, and as an instant', async () => {
    for (const creation of [
      { identifier: 'a', deadlineMs: -1 },
      { identifier: 'a', deadlineMs: 1, deadline: new Date() },
      { identifier: 'a', deadline: new Date('never') },
    ])
      expect(await codeOf(() => fixture.push(creation))).toBe('ARGUMENT_INVALID')
  })
})
