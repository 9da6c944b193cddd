/** Tasks that nobody wants any more are ended, wherever they are on their way. */
import { TaskDecision } from '@taskstream/task-api'
import type { Cancellation, Completion, HeldTask, PromotedDue, Repair, TaskCreation, TaskSelector } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { testClock } from '../test-clock.ts'
import { part } from './engine.ts'
import type { Part, Tasks } from './engine.ts'
import { names, thrownBy, useFixture } from './fixture.ts'

export const cancel: Part = part('cancelling', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now, topic: { keyed: true } })
  const cancelled = (selector: TaskSelector): Promise<Cancellation> =>
    fixture.commit<Cancellation>((transaction) => fixture.tasks.cancel(transaction, fixture.topic, selector))
  const none: Cancellation = { cancelled: [], taken: [] }
  const sequence = async (creation: TaskCreation): Promise<number> => (await fixture.push(creation))[0]!.sequence
  /** Makes a task of each state. @returns their sequences by state, in the order in which they were pushed */
  const ofEachState = async (): Promise<Record<string, number>> => {
    const dead = await fixture.owner()
    const expired = await sequence({ identifier: 'expired' })
    await fixture.poll(1, dead)
    await fixture.commit((transaction) => dead.unregister(transaction))
    await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 60_000 }))
    const decisions = {
      succeeded: TaskDecision.success(),
      failed: TaskDecision.failure('no'),
      filtered: TaskDecision.filter(),
      suspended: TaskDecision.suspension('later'),
      retrying: TaskDecision.retry({ afterMs: 5_000 }, 'again'),
    }
    const ended: Record<string, number> = {}
    for (const [name, decision] of Object.entries(decisions)) {
      ended[name] = await sequence({ identifier: name })
      await fixture.complete(await fixture.poll(1), decision)
    }
    const active = await sequence({ identifier: 'active' })
    await fixture.poll(1)
    return {
      expired,
      ...ended,
      active,
      delayed: await sequence({ identifier: 'delayed', delayMs: 5_000 }),
      ready: await sequence({ identifier: 'ready' }),
    }
  }

  test('ends every task that has not ended, and leaves the others as they are', async () => {
    const sequences = await ofEachState()
    const before = await fixture.page()
    clock.advance(1_000)
    const { cancelled: ended, taken } = await cancelled(Object.values(sequences).toReversed())
    expect(names(ended)).toEqual(['expired', 'suspended', 'retrying', 'active', 'delayed', 'ready'])
    expect(ended[0]).toEqual({ topic: fixture.topic, sequence: sequences['expired'], identifier: 'expired' })
    expect(taken).toEqual([{ topic: fixture.topic, sequence: sequences['active'], identifier: 'active' }])
    const wanted = before.map(({ due, ...task }) =>
      names(ended).includes(task.identifier)
        ? { ...task, state: 'filtered', reason: 'cancelled', completed: clock.now() }
        : { ...task, ...(due && { due }) },
    )
    expect(await fixture.page()).toEqual(wanted)
    expect(await cancelled(Object.values(sequences))).toEqual(none)
    // None of them comes back by itself.
    clock.advance(60_000)
    expect(await fixture.commit<PromotedDue>((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))).toEqual({
      promoted: 0,
    })
    expect(await fixture.poll()).toEqual([])
  })

  test('takes a task from its handler, whose completion and hand-back are refused as lost', async () => {
    await fixture.push('a', 'b')
    const held = await fixture.poll()
    await cancelled(held.map((task) => task.sequence))
    expect(await fixture.complete(held)).toEqual({ completed: [], lost: held })
    const back = await fixture.commit<Completion>((transaction) => fixture.tasks.handBack(transaction, fixture.topic, held))
    expect(back).toEqual({ completed: [], lost: held })
    expect(await fixture.states()).toEqual({ filtered: 2 })
    // Not even after it was revived and taken again by the same owner.
    await fixture.commit((transaction) => fixture.tasks.recreate(transaction, fixture.topic, 'reset', held))
    const again = await fixture.poll()
    expect(await fixture.complete(held)).toEqual({ completed: [], lost: held })
    expect(await fixture.complete(again)).toMatchObject({ lost: [] })
  })

  test('is seen by those who ask which of their tasks are lost', async () => {
    await fixture.push('a', 'b', 'c', 'd')
    const other = await fixture.owner()
    const held = await fixture.poll(3)
    const [theirs] = await fixture.poll(1, other)
    const lost = (by: Tasks, tasks: readonly HeldTask[]): Promise<HeldTask[]> =>
      fixture.commit<HeldTask[]>((transaction) => by.lost(transaction, fixture.topic, tasks))
    expect([await lost(fixture.tasks, held), await lost(fixture.tasks, [])]).toEqual([[], []])
    await cancelled(held[1]!.sequence)
    await fixture.complete([held[0]!])
    expect(await lost(fixture.tasks, held.toReversed())).toEqual(held.slice(0, 2))
    expect(await lost(other, [held[2]!, theirs!])).toEqual([held[2]])
    // Nor is a former attempt held, though the same owner has the task again.
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [held[2]!]))
    const [again] = await fixture.poll()
    expect(again!.sequence).toBe(held[2]!.sequence)
    expect([await lost(fixture.tasks, [held[2]!]), await lost(fixture.tasks, [again!])]).toEqual([[held[2]], []])
    expect(await lost(fixture.tasks, [again!, held[2]!])).toEqual([held[2]])
  })

  test('finds one task by its sequence or its external id, and passes over what is not there', async () => {
    const [a, b] = await fixture.push({ identifier: 'a', externalId: 'x' }, { identifier: 'a', externalId: 'y' }, 'a')
    const other = fixture.topic
    await fixture.nextTopic({ keyed: true })
    await fixture.push({ identifier: 'a', externalId: 'x' })
    expect(await cancelled({ externalId: 'z' })).toEqual(none)
    expect(await cancelled([a!.sequence, b!.sequence])).toEqual(none)
    expect(await cancelled({ externalId: 'x' })).toMatchObject({ cancelled: [{ topic: fixture.topic, identifier: 'a' }] })
    const elsewhere = (selector: TaskSelector): Promise<Cancellation> =>
      fixture.commit<Cancellation>((transaction) => fixture.tasks.cancel(transaction, other, selector))
    expect(await elsewhere({ externalId: 'y' })).toMatchObject({
      cancelled: [{ topic: other, sequence: b!.sequence }],
      taken: [],
    })
    expect(await elsewhere([a!.sequence, a!.sequence, 0])).toMatchObject({ cancelled: [{ sequence: a!.sequence }] })
    expect(await elsewhere(a!.sequence)).toEqual(none)
    // The external id stays with its task, so a repeated push finds the cancelled one.
    expect(await fixture.push({ identifier: 'a', externalId: 'x' })).toMatchObject([{ outcome: 'duplicate' }])
  })

  test('finds all of an identifier in a keyed topic, and refuses to look for it in another', async () => {
    const pushed = await fixture.push('a', { identifier: 'a', delayMs: 5 }, 'b', { identifier: 'a', suspended: true })
    const [a] = await fixture.poll(1)
    const { cancelled: ended, taken } = await cancelled({ identifier: 'a' })
    expect(ended.map((task) => task.sequence)).toEqual([pushed[0]!.sequence, pushed[1]!.sequence, pushed[3]!.sequence])
    expect(taken.map((task) => task.sequence)).toEqual([a!.sequence])
    expect(await cancelled({ identifier: 'a' })).toEqual(none)
    expect(await cancelled({ identifier: 'nobody' })).toEqual(none)
    expect(names(await fixture.poll())).toEqual(['b'])
    await fixture.nextTopic()
    await fixture.push('a')
    const refused = fixture.commit((transaction) =>
      thrownBy(() => fixture.tasks.cancel(transaction, fixture.topic, { identifier: 'a' })),
    )
    expect(await refused).toMatchObject({ code: 'TOPIC_NOT_KEYED', message: expect.stringContaining('cancel by identifier') })
    expect(await fixture.states()).toEqual({ ready: 1 })
  })

  test.for(['ready', 'active', 'delayed', 'suspended', 'expired'] as const)(
    'a task that was %s is found by its identifier, and frees it',
    async (state) => {
      await fixture.nextTopic({ condition: 'singular-by-identifier-suspend-until-success' })
      const push = async (): Promise<number> => {
        const pushed = await sequence({
          identifier: 'a',
          ...(state === 'delayed' && { delayMs: 5_000 }),
          ...(state === 'suspended' && { suspended: true }),
        })
        if (state === 'active') expect(await fixture.poll()).toHaveLength(1)
        if (state === 'expired') {
          const dead = await fixture.owner()
          await fixture.poll(1, dead)
          await fixture.commit((transaction) => dead.unregister(transaction))
          await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 60_000 }))
        }
        return pushed
      }
      const former = await push()
      expect(await cancelled({ identifier: 'a' })).toMatchObject({ cancelled: [{ sequence: former }] })
      const first = await push()
      const second = await sequence({ identifier: 'a' })
      if (state !== 'ready') expect(await fixture.poll()).toEqual([])
      expect(await cancelled(first)).toMatchObject({ cancelled: [{ sequence: first }] })
      const repaired = fixture.commit<Repair>((transaction) => fixture.tasks.repair(transaction, fixture.topic))
      expect(await repaired).toMatchObject({ corrected: 0, noted: 0 })
      expect((await fixture.poll()).map((task) => task.sequence)).toEqual([second])
    },
  )

  test('is undone with its transaction', async () => {
    await fixture.push('a')
    const [held] = (await fixture.poll()) as [HeldTask]
    const undone = fixture.commit(async (transaction) => {
      await fixture.tasks.cancel(transaction, fixture.topic, held.sequence)
      throw new Error('undone')
    })
    await expect(undone).rejects.toThrow('undone')
    expect(await fixture.complete([held])).toEqual({ completed: [held], lost: [] })
  })
})
