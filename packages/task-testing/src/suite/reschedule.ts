/** Tasks that wait are moved in time, and in the order of priorities. */
import { TaskDecision } from '@taskstream/task-api'
import type { PromotedDue, Repair, Rescheduling, Task, TaskSelector } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { testClock } from '../test-clock.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'
import { names, thrownBy, useFixture } from './fixture.ts'

export const reschedule: Part = part('rescheduling', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now, topic: { keyed: true } })
  const moved = async (selector: TaskSelector, to: Rescheduling): Promise<string[]> =>
    names(
      await fixture.commit<readonly Task[]>((transaction) => fixture.tasks.reschedule(transaction, fixture.topic, selector, to)),
    )
  const promote = (): Promise<PromotedDue> =>
    fixture.commit<PromotedDue>((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
  const after = (ms: number): Date => new Date(clock.now().getTime() + ms)

  test('puts a ready task off until its due time', async () => {
    const [a, b] = await fixture.push('a', 'b')
    const [before] = await fixture.page()
    expect(await moved(a!.sequence, { delayMs: 1_000 })).toEqual(['a'])
    expect(await moved([b!.sequence], { due: after(2_000) })).toEqual(['b'])
    expect(await fixture.page()).toMatchObject([{ ...before, state: 'suspended', due: after(1_000) }, { due: after(2_000) }])
    expect(await fixture.poll()).toEqual([])
    expect(await promote()).toEqual({ promoted: 0, nextDueMs: 1_000 })
    clock.advance(1_000)
    expect(await promote()).toEqual({ promoted: 1, nextDueMs: 1_000 })
    expect(names(await fixture.poll())).toEqual(['a'])
  })

  test('brings a delayed task forward, to its old place', async () => {
    const pushed = await fixture.push({ identifier: 'a', delayMs: 9_000 }, { identifier: 'b', delayMs: 9_000 }, 'c')
    expect(await moved({ identifier: 'a' }, { due: after(500) })).toEqual(['a'])
    expect(await promote()).toEqual({ promoted: 0, nextDueMs: 500 })
    // An instant that has passed, or is now, makes it ready at once.
    expect(await moved(pushed[0]!.sequence, { due: after(-1) })).toEqual(['a'])
    expect(await moved(pushed[1]!.sequence, { delayMs: 0 })).toEqual(['b'])
    const [a] = await fixture.page()
    expect([a!.state, a!.due]).toEqual(['ready', undefined])
    expect(await promote()).toEqual({ promoted: 0 })
    expect(names(await fixture.poll())).toEqual(['a', 'b', 'c'])
  })

  test('brings a retry forward or puts it off, with the tries that it has used', async () => {
    await fixture.push('a')
    const [held] = await fixture.poll()
    await fixture.complete([held!], TaskDecision.retry({ afterMs: 5_000 }, 'no'))
    const [before] = await fixture.page()
    expect(await moved(held!.sequence, { delayMs: 9_000 })).toEqual(['a'])
    expect(await fixture.page()).toEqual([{ ...before, due: after(9_000) }])
    expect(await moved(held!.sequence, { delayMs: 0 })).toEqual(['a'])
    const { due: _, completed: __, ...rest } = before!
    expect(await fixture.page()).toEqual([{ ...rest, state: 'ready' }])
    expect(await fixture.poll()).toMatchObject([{ attempt: 2, tries: 2 }])
  })

  test('leaves tasks that are at work, set aside or ended as they are', async () => {
    const [set] = await fixture.push({ identifier: 'set aside', suspended: true })
    await fixture.push('ended', 'held')
    const [ended, held] = await fixture.poll()
    await fixture.complete([ended!])
    const before = await fixture.page()
    for (const to of [{ delayMs: 0 }, { priority: 5 }, { deadlineMs: 5 }])
      expect(await moved([set!.sequence, ended!.sequence, held!.sequence, 0], to)).toEqual([])
    expect(await moved({ externalId: 'nobody' }, { priority: 5 })).toEqual([])
    expect(await fixture.page()).toEqual(before)
  })

  test('sets, moves and takes away a deadline, and nothing else with it', async () => {
    const [a, b] = await fixture.push({ identifier: 'a', externalId: 'x', deadlineMs: 100 }, { identifier: 'b', delayMs: 50 })
    const [before, later] = await fixture.page()
    expect(await moved({ externalId: 'x' }, { deadlineMs: 700 })).toEqual(['a'])
    expect(await moved(b!.sequence, { deadline: after(900) })).toEqual(['b'])
    expect(await fixture.page()).toEqual([
      { ...before, deadline: after(700) },
      { ...later, deadline: after(900) },
    ])
    expect(await moved([a!.sequence, b!.sequence], { deadline: null })).toEqual(['a', 'b'])
    expect((await fixture.page()).map(({ deadline }) => deadline)).toEqual([undefined, undefined])
    clock.advance(1_000)
    await promote()
    expect(names(await fixture.poll())).toEqual(['a', 'b'])
  })

  test.each([
    ['fifo', 'none'],
    ['lifo', 'none'],
    ['priority', 'none'],
    ['lifo', 'singular-by-identifier'],
  ] as const)('moves a task to and fro in a topic of any kind, and nothing else with it: %s, %s', async (order, condition) => {
    await fixture.nextTopic({ order, condition })
    const [a, b] = await fixture.push(
      { identifier: 'a', delayMs: 9_000, deadlineMs: 60_000 },
      { identifier: 'b', deadlineMs: 60_000 },
    )
    const [later, ready] = await fixture.page()
    expect(await moved(a!.sequence, { delayMs: 0 })).toEqual(['a'])
    expect(await moved(b!.sequence, { delayMs: 9_000 })).toEqual(['b'])
    const { due, ...rest } = later!
    expect(await fixture.page()).toEqual([
      { ...rest, state: 'ready' },
      { ...ready, state: 'suspended', due },
    ])
    const repaired = fixture.commit<Repair>((transaction) => fixture.tasks.repair(transaction, fixture.topic))
    expect(await repaired).toMatchObject({ corrected: 0, noted: 0 })
    expect(names(await fixture.poll())).toEqual(['a'])
  })

  test('a priority changes the order at once, and only in topics that have one', async () => {
    await fixture.nextTopic({ order: 'priority' })
    const pushed = await fixture.push('a', 'b', { identifier: 'c', priority: 5 })
    expect(await moved(pushed[1]!.sequence, { priority: 9 })).toEqual(['b'])
    expect(await moved(pushed[2]!.sequence, { priority: -3 })).toEqual(['c'])
    expect((await fixture.page()).map(({ priority }) => priority)).toEqual([0, 9, -3])
    expect(names(await fixture.poll())).toEqual(['b', 'a', 'c'])
    await fixture.nextTopic()
    const [, second] = await fixture.push('a', 'b')
    expect(await moved(second!.sequence, { priority: 9 })).toEqual(['b'])
    expect(names(await fixture.poll())).toEqual(['a', 'b'])
  })

  test('a task that is put off still blocks its identifier, and goes first when it is due', async () => {
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    const [first] = await fixture.push('a', 'b', 'a')
    expect(await moved(first!.sequence, { delayMs: 100 })).toEqual(['a'])
    expect(names(await fixture.poll())).toEqual(['b'])
    expect(await moved(first!.sequence, { delayMs: 0 })).toEqual(['a'])
    expect((await fixture.poll()).map(({ sequence }) => sequence)).toEqual([first!.sequence])
  })

  test('what says nothing, or too much, is refused and named', async () => {
    const [a] = await fixture.push('a')
    const before = await fixture.page()
    const refused = async (argument: string, to: unknown): Promise<void> => {
      const error = await fixture.commit((transaction) =>
        thrownBy(() => fixture.tasks.reschedule(transaction, fixture.topic, a!.sequence, to as Rescheduling)),
      )
      expect(error).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument } })
      expect(await fixture.page()).toEqual(before)
    }
    for (const to of [undefined, null, 5, {}, { due: undefined }]) await refused('to', to)
    await refused('delayMs', { due: after(5), delayMs: 5 })
    await refused('deadlineMs', { deadline: null, deadlineMs: 5 })
    await refused('due', { due: null })
    await refused('due', { due: new Date(Number.NaN) })
    await refused('deadline', { deadline: '2027-01-01' })
    for (const delay of [-1, 0.5, 3_153_600_000_001, '5']) {
      await refused('delayMs', { delayMs: delay })
      await refused('deadlineMs', { deadlineMs: delay })
    }
    for (const priority of [-32_768, 32_768, 1.5, null]) await refused('priority', { priority })
    await fixture.nextTopic()
    const error = await fixture.commit((transaction) =>
      thrownBy(() => fixture.tasks.reschedule(transaction, fixture.topic, { identifier: 'a' }, { delayMs: 5 })),
    )
    expect(error).toMatchObject({ code: 'TOPIC_NOT_KEYED', message: expect.stringContaining('reschedule by identifier') })
  })
})
