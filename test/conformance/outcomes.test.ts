/** Topics that keep outcomes: their tasks are held by ranges (docs/decisions/ranges.md). */
import { TaskDecision } from '@taskstream/task-api'
import type { Task } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { codeOf, names, thrownBy } from '@taskstream/task-testing/suite'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { useOutcomes } from './outcomes.ts'

describe.skipIf(!canRun)('a topic that keeps outcomes', () => {
  const outcomes = useOutcomes()
  const { clock, fixture, ranges, statesOfRanges, pollBy, expire } = outcomes

  test('writes no row of a task when it is polled, and one row for all of them', async () => {
    await fixture.push(...Array.from({ length: 1_500 }, (_, index) => `t${index}`))
    const held = await fixture.poll(1_500)
    expect(held.map(({ identifier }) => identifier)).toEqual(Array.from({ length: 1_500 }, (_, index) => `t${index}`))
    const stored = await fixture.commit((transaction) =>
      fixture.subject.execute(
        transaction,
        sql`select distinct state::int, attempt, owner from taskstream.task where topic = ${fixture.topic}`,
      ),
    )
    expect(stored).toEqual([{ state: 1, attempt: 0, owner: null }])
    expect(await ranges()).toHaveLength(1)
    expect(await fixture.states()).toEqual({ active: 1_500 })
    expect((await fixture.page())[0]).toMatchObject({ state: 'active', attempt: 1, tries: 1, owner: fixture.tasks.owner })
    await fixture.complete(held.slice(0, 1_000))
    expect(await fixture.states()).toEqual({ active: 500, succeeded: 1_000 })
    await fixture.complete(held.slice(1_000))
    expect(await fixture.states()).toEqual({ succeeded: 1_500 })
    // The owner's later polls end what is worked off, several at a time.
    for (let poll = 0; poll < 10; poll++) {
      await fixture.push('next')
      await fixture.complete(await fixture.poll())
    }
    expect((await statesOfRanges()).filter((state) => state === 0).length).toBeLessThan(10)
  })

  test('finds a task that commits late, before what its producer pushes next, and forgets one that is rolled back', async () => {
    await outcomes.one.begin()
    await fixture.tasks.push(outcomes.one.transaction, fixture.topic, 'late')
    await fixture.push('a')
    expect(names(await fixture.poll())).toEqual(['a'])
    expect(await statesOfRanges()).toEqual([9, 0])
    await fixture.push('b')
    expect(names(await fixture.poll(1))).toEqual(['b'])
    await outcomes.one.commit()
    await fixture.push('next')
    expect(names(await fixture.poll(1))).toEqual(['late'])
    expect(names(await fixture.poll(1))).toEqual(['next'])

    await outcomes.two.begin()
    await fixture.tasks.push(outcomes.two.transaction, fixture.topic, 'never')
    await fixture.push('c')
    expect(names(await fixture.poll())).toEqual(['c'])
    expect(await statesOfRanges()).toContain(9)
    await outcomes.two.rollback()
    await expect
      .poll(async () => {
        await fixture.push('again')
        await fixture.poll()
        return statesOfRanges()
      })
      .not.toContain(9)
  })

  test('keeps other polls waiting for one that stays open, which then get nothing, and gives its tasks back when it is rolled back', async () => {
    await fixture.push('a', 'b')
    await outcomes.one.begin()
    expect(names(await pollBy(outcomes.one, 1, fixture.tasks))).toEqual(['a'])
    await outcomes.two.begin()
    expect(await pollBy(outcomes.two, 2)).toEqual([])
    await outcomes.two.rollback()
    await outcomes.one.rollback()
    expect(names(await fixture.poll(2, outcomes.rival))).toEqual(['a', 'b'])
  })

  test('lets a poll at another level than READ COMMITTED take nothing, and says so', async () => {
    await fixture.push('a')
    await outcomes.one.begin()
    await fixture.subject.execute(outcomes.one.transaction, raw('set transaction isolation level repeatable read'))
    expect(await codeOf(() => pollBy(outcomes.one, 1))).toBe('ISOLATION_UNSUPPORTED')
    await outcomes.one.rollback()
    const refused = await thrownBy(() =>
      fixture.commit((transaction) => fixture.tasks.poll(transaction, fixture.topic, { hold: 'transaction' })),
    )
    expect(refused).toMatchObject({ code: 'ARGUMENT_INVALID', data: { argument: 'hold' } })
  })

  test('tells whoever holds a task that it was cancelled, and lets the others be completed', async () => {
    await fixture.push('a', 'b', 'c')
    const held = await fixture.poll(3)
    const { taken } = await fixture.commit((transaction) => fixture.tasks.cancel(transaction, fixture.topic, held[1]!.sequence))
    expect(names(taken)).toEqual(['b'])
    expect(await fixture.commit((transaction) => fixture.tasks.lost(transaction, fixture.topic, held))).toMatchObject([
      { identifier: 'b' },
    ])
    const { completed, lost } = await fixture.complete(held)
    expect([names(completed), names(lost)]).toEqual([['a', 'c'], ['b']])
    expect(await fixture.page()).toMatchObject([
      { state: 'succeeded' },
      { state: 'filtered', reason: 'cancelled', attempt: 1, owner: fixture.tasks.owner },
      { state: 'succeeded' },
    ])
  })

  test('reschedules and purges what is ready, and nothing that is held', async () => {
    await fixture.push('held', 'ready')
    const [held] = await fixture.poll(1)
    const all = (await fixture.page()).map(({ sequence }) => sequence)
    const moved = await fixture.commit((transaction) =>
      fixture.tasks.reschedule(transaction, fixture.topic, all, { delayMs: 60_000 }),
    )
    expect(names(moved)).toEqual(['ready'])
    await fixture.push('fresh')
    expect(await fixture.commit((transaction) => fixture.tasks.purge(transaction, fixture.topic, { states: ['ready'] }))).toBe(1)
    expect(await fixture.states()).toEqual({ active: 1, delayed: 1 })
    expect(await fixture.complete([held!])).toMatchObject({ lost: [] })
  })

  test('waits with a poll for an operator whose transaction is open, and does not give what he takes away', async () => {
    const [a] = await fixture.push('a', 'b')
    await outcomes.one.begin()
    await fixture.tasks.cancel(outcomes.one.transaction, fixture.topic, a!.sequence)
    expect(await fixture.poll(2, outcomes.rival)).toEqual([])
    await outcomes.one.commit()
    expect(names(await fixture.poll(2, outcomes.rival))).toEqual(['b'])
  })

  test('gives the tasks of an owner who died to others, in their order and before fresh ones, and tells him that they are lost', async () => {
    await fixture.push('a', 'b')
    const lost = await fixture.poll(2, outcomes.rival)
    clock.now += 5_000
    await expire()
    expect(await fixture.page()).toMatchObject([
      { state: 'ready', reason: 'lease' },
      { state: 'ready', reason: 'lease' },
    ])
    await fixture.push('c')
    const again = await fixture.poll(3)
    expect(again).toMatchObject([
      { identifier: 'a', attempt: 2, tries: 2 },
      { identifier: 'b', attempt: 2, tries: 2 },
      { identifier: 'c', attempt: 1, tries: 1 },
    ])
    expect(await fixture.complete(lost, TaskDecision.failure(), outcomes.rival)).toMatchObject({
      completed: [],
      lost: { length: 2 },
    })
    expect(await fixture.complete(again)).toMatchObject({ lost: [] })
    await fixture.commit((transaction) => outcomes.rival.register(transaction))
  })

  test('hands back a part of what is held, and the rest is completed', async () => {
    await fixture.push('a', 'b', 'c')
    const [a, b, c] = await fixture.poll(3)
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [b!]))
    expect(await fixture.complete([a!, c!])).toMatchObject({ lost: [] })
    expect(await fixture.poll()).toMatchObject([{ identifier: 'b', attempt: 2, tries: 1 }])
    expect(await fixture.complete([b!])).toMatchObject({ lost: [{ identifier: 'b' }] })
  })

  test('does not let a task that came back overtake fresh ones while another takes them', async () => {
    await fixture.push('a')
    await fixture.push('b')
    const [c] = await fixture.push('c')
    await fixture.commit((transaction) => fixture.tasks.reschedule(transaction, fixture.topic, [c!.sequence], { delayMs: 0 }))
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    await outcomes.one.begin()
    expect(names(await pollBy(outcomes.one, 1, fixture.tasks))).toEqual(['a'])
    expect(await fixture.poll(1, outcomes.rival)).toEqual([])
    await outcomes.one.commit()
    expect(names(await fixture.poll(2, outcomes.rival))).toEqual(['b', 'c'])
  })

  test('answers with what is long only after others may poll again', async () => {
    const inputs = Array.from({ length: 50 }, (_, index) => ({ identifier: `t${index}`, input: `${index}`.padEnd(8_000, '.') }))
    const pushed = await fixture.commit<Task[]>((transaction) => fixture.tasks.push(transaction, fixture.topic, inputs))
    const listed = pushed.slice(0, 20).map(({ sequence }) => sequence)
    await fixture.commit((transaction) => fixture.tasks.reschedule(transaction, fixture.topic, listed, { delayMs: 0 }))
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    await outcomes.one.begin()
    const answered = await fixture.subject.execute(
      outcomes.one.transaction,
      sql`select sum(octet_length(input))::int as bytes, count(sequence)::int as rows from taskstream.task_take_ranges(${fixture.topic}, ${fixture.tasks.owner}, 50, true, null)`,
    )
    expect(answered).toEqual([{ bytes: null, rows: 21 }])
    await outcomes.one.rollback()
    const held = await fixture.poll(50)
    expect(held).toMatchObject(inputs)
    expect(await fixture.complete(held)).toMatchObject({ completed: { length: 50 } })
  })
})
