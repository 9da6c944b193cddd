/** Limits of different topics and kinds do not touch each other, and what is no limit is refused. */
import type { SlotGrant, TokenGrant, TopicLimits } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { testClock } from '../test-clock.ts'
import { part, testWhere } from './engine.ts'
import type { AnyTransaction, Part, Tasks } from './engine.ts'
import { codeOf, countingOwner, useFixture } from './fixture.ts'

export const limitsApart: Part = part('limits beside each other', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now })

  const limit = (topic: string, limits: TopicLimits): Promise<TopicLimits> =>
    fixture.commit<TopicLimits>((transaction) => fixture.tasks.limit(transaction, topic, limits))
  const limits = (): Promise<ReadonlyMap<string, TopicLimits>> =>
    fixture.commit<ReadonlyMap<string, TopicLimits>>((transaction) => fixture.tasks.limits(transaction))
  const take = (wanted: number, topic = fixture.topic): Promise<TokenGrant> =>
    fixture.commit<TokenGrant>((transaction) => fixture.tasks.takeTokens(transaction, topic, wanted))
  const give = (count: number, topic = fixture.topic): Promise<unknown> =>
    fixture.commit<unknown>((transaction) => fixture.tasks.giveTokens(transaction, topic, count))
  /** Makes two more topics, and the first one the current one again. */
  const others = async (): Promise<readonly [string, string]> => {
    const names = [`${fixture.topic}-b`, `${fixture.topic}-c`] as const
    for (const name of names) await fixture.commit<boolean>((transaction) => fixture.tasks.initialize(transaction, name))
    return names
  }

  test('are changed one by one: each to its own, and those of other topics not at all', async () => {
    const [second, third] = await others()
    const elsewhere = { total: 2, rate: { count: 2, perMs: 2_000 }, maxEntries: { count: 2, whenFull: 'reject' } } as const
    await limit(second, elsewhere)
    const before = { ...elsewhere, total: 3, deadLetter: second }
    const after = {
      total: 30,
      rate: { count: 40, perMs: 5_000 },
      maxEntries: { count: 60, whenFull: 'reject' },
      deadLetter: third,
    } as const
    await limit(fixture.topic, before)
    expect(await limit(fixture.topic, after)).toEqual(after)
    expect(await limit(fixture.topic, { ...after, total: 31 })).toEqual({ ...after, total: 31 })
    expect((await limits()).get(second)).toEqual(elsewhere)
  })

  test('are listed by the names of their topics', async () => {
    const topics = [fixture.topic, ...(await others())]
    for (const topic of topics.toReversed()) await limit(topic, { total: 1, rate: { count: 1, perMs: 1_000 } })
    const listed = [...(await limits()).keys()]
    expect(listed.filter((topic) => topics.includes(topic))).toEqual(topics)
  })

  test('give tokens each for itself, of which some are given back', async () => {
    const [second] = await others()
    await limit(second, { rate: { count: 40, perMs: 10_000 }, total: 3 })
    await limit(fixture.topic, { rate: { count: 10, perMs: 1_000 }, total: 4 })
    expect(await take(1)).toEqual({ taken: 1 })
    expect(await take(10)).toEqual({ taken: 9, nextMs: 100 })
    expect(await take(41, second)).toEqual({ taken: 40, nextMs: 250 })
    await give(4, second)
    expect(await take(1)).toEqual({ taken: 0, nextMs: 100 })
    expect(await take(5, second)).toEqual({ taken: 4, nextMs: 250 })
    await give(1)
    expect(await take(2)).toEqual({ taken: 1, nextMs: 100 })
    await give(0)
    expect(await take(0)).toEqual({ taken: 0 })
    expect(await take(1)).toEqual({ taken: 0, nextMs: 100 })
  })

  test('on rates are exact over a day, and of thousands', async () => {
    await limit(fixture.topic, { rate: { count: 1, perMs: 86_400_000 } })
    expect(await take(2)).toEqual({ taken: 1, nextMs: 86_400_000 })
    clock.advance(86_399_000)
    expect(await take(1)).toEqual({ taken: 0, nextMs: 1_000 })
    clock.advance(1_000)
    expect(await take(1)).toEqual({ taken: 1 })
    await limit(fixture.topic, {})
    await limit(fixture.topic, { rate: { count: 10_000, perMs: 1_000_000 } })
    expect(await take(10_000)).toEqual({ taken: 10_000 })
    await give(5_000)
    expect(await take(10_000)).toEqual({ taken: 5_000, nextMs: 100 })
  })

  test('on rates tell a time at which there is a token, also where it falls between two milliseconds', async () => {
    await limit(fixture.topic, { rate: { count: 3, perMs: 1_000 } })
    expect(await take(9)).toEqual({ taken: 3, nextMs: 334 })
    clock.advance(333)
    expect(await take(1)).toEqual({ taken: 0, nextMs: 1 })
    clock.advance(1)
    expect(await take(1)).toEqual({ taken: 1 })
  })

  test('on all tasks at a time forget what an owner had once there is no such limit, and of others nothing', async () => {
    const [second] = await others()
    const [rival, third] = [await fixture.owner(), await fixture.owner()]
    const slots = async (by: Tasks, wanted: number, topic = fixture.topic): Promise<number | undefined> =>
      (await fixture.commit<SlotGrant>((transaction) => by.takeSlots(transaction, topic, { held: 0, wanted }))).slots
    for (const topic of [fixture.topic, second]) await limit(topic, { total: 10, rate: { count: 100, perMs: 1_000 } })
    expect([await slots(fixture.tasks, 5), await slots(rival, 5)]).toEqual([5, 5])
    expect(await slots(fixture.tasks, 3, second)).toBe(3)
    await limit(fixture.topic, { rate: { count: 100, perMs: 1_000 } })
    expect(await slots(fixture.tasks, 5)).toBeUndefined()
    await limit(fixture.topic, { total: 10 })
    expect(await slots(third, 10)).toBe(5)
    expect(await slots(third, 10, second)).toBe(7)
    // Who wants none has none.
    expect(await slots(rival, 0)).toBe(0)
    expect(await slots(third, 10)).toBe(10)
    expect(await slots(fixture.tasks, 10)).toBe(0)
  })

  test('on all tasks at a time are shared fairly: who wants little has it, and among equals the first by name has more', async () => {
    const [a, b, c] = [await fixture.owner('a'), await fixture.owner('b'), await fixture.owner('c')]
    const slots = async (by: Tasks, wanted: number): Promise<number | undefined> =>
      (await fixture.commit<SlotGrant>((transaction) => by.takeSlots(transaction, fixture.topic, { held: 0, wanted }))).slots
    await limit(fixture.topic, { total: 8 })
    expect([await slots(a, 9), await slots(b, 1), await slots(c, 9)]).toEqual([8, 0, 0])
    expect([await slots(a, 9), await slots(b, 1), await slots(c, 9)]).toEqual([4, 1, 3])
    // Who wants none gives up what is his, and nothing of others.
    expect(await slots(b, 0)).toBe(0)
    expect([await slots(c, 9), await slots(a, 9)]).toEqual([4, 4])
    await fixture.nextTopic()
    await limit(fixture.topic, { total: 3 })
    expect([await slots(c, 3), await slots(a, 3)]).toEqual([3, 0])
    expect([await slots(c, 3), await slots(a, 3), await slots(c, 3)]).toEqual([1, 2, 1])
    await fixture.nextTopic()
    await limit(fixture.topic, { total: 1 })
    expect([await slots(a, 1), await slots(b, 1)]).toEqual([1, 0])
  })

  test('on all tasks at a time have the slots of dead owners freed, unless they hold a task of that topic', async () => {
    const [second] = await others()
    const [holding, idle] = [await fixture.owner('holding'), await fixture.owner('idle')]
    const slots = async (by: Tasks, wanted: number, topic = fixture.topic): Promise<number | undefined> =>
      (await fixture.commit<SlotGrant>((transaction) => by.takeSlots(transaction, topic, { held: 0, wanted }))).slots
    for (const topic of [fixture.topic, second]) await limit(topic, { total: 4 })
    expect([await slots(holding, 2), await slots(idle, 1), await slots(holding, 3, second)]).toEqual([2, 1, 3])
    await fixture.push('a')
    expect(await fixture.poll(1, holding)).toHaveLength(1)
    for (const owner of [holding, idle]) await fixture.commit((transaction) => owner.unregister(transaction))
    const free = (): Promise<number> => fixture.commit<number>((transaction) => fixture.tasks.freeSlots(transaction, 10_000))
    expect(await free()).toBe(2)
    expect(await free()).toBe(0)
    expect([await slots(fixture.tasks, 4), await slots(fixture.tasks, 4, second)]).toEqual([2, 4])
  })

  test('on all tasks at a time are kept by a poll that makes sure of its slots, and has none left once they were freed', async () => {
    const silent = await fixture.owner('silent')
    const holds = (): Promise<boolean> => fixture.commit<boolean>((transaction) => silent.holdSlots(transaction, fixture.topic))
    await limit(fixture.topic, { total: 1 })
    expect(await holds()).toBe(false)
    await fixture.commit<SlotGrant>((transaction) => silent.takeSlots(transaction, fixture.topic, { held: 0, wanted: 1 }))
    expect(await holds()).toBe(true)
    clock.advance(60_000)
    // Nobody has freed them yet.
    expect(await holds()).toBe(true)
    await fixture.commit<number>((transaction) => fixture.tasks.freeSlots(transaction, 10_000))
    expect(await holds()).toBe(false)
  })

  testWhere(engine.writers > 1)('on all tasks at a time are not freed beside a poll, and those of other owners are', async () => {
    const [silent, idle] = [await fixture.owner('silent'), await fixture.owner('idle')]
    const slots = async (by: Tasks, wanted: number): Promise<number | undefined> =>
      (await fixture.commit<SlotGrant>((transaction) => by.takeSlots(transaction, fixture.topic, { held: 0, wanted }))).slots
    const free = (): Promise<number> => fixture.commit<number>((transaction) => fixture.tasks.freeSlots(transaction, 10_000))
    await limit(fixture.topic, { total: 2 })
    await fixture.push('a')
    expect([await slots(silent, 1), await slots(idle, 1)]).toEqual([1, 1])
    clock.advance(60_000)
    const session = await fixture.subject.session()
    await session.begin()
    expect(await silent.poll(session.transaction, fixture.topic, { size: 1 })).toHaveLength(1)
    expect(await silent.holdSlots(session.transaction, fixture.topic)).toBe(true)
    // It does not wait for the poll, which may be that of a process that stands still.
    await free()
    expect(await slots(fixture.tasks, 2)).toBe(1)
    await session.commit()
    await session.close()
    await free()
    expect(await slots(fixture.tasks, 2)).toBe(1)
  })

  test('are none where none were set: tokens and room are there for all', async () => {
    expect(await take(7)).toEqual({ taken: 7 })
    await give(7)
    await fixture.commit<unknown>((transaction) => fixture.tasks.admit(transaction, fixture.topic, 7))
    await limit(fixture.topic, { total: 1 })
    expect(await take(7)).toEqual({ taken: 7 })
    await give(7)
    await fixture.commit<unknown>((transaction) => fixture.tasks.admit(transaction, fixture.topic, 7))
    expect((await limits()).get(fixture.topic)).toEqual({ total: 1 })
  })

  test('of a topic without a name, or of a number that is none, are refused', async () => {
    const { tasks, topic } = fixture
    await limit(topic, { maxEntries: { count: 9 }, total: 9, rate: { count: 9, perMs: 1_000 } })
    const bad: readonly ((transaction: AnyTransaction) => unknown)[] = [
      (transaction) => tasks.limit(transaction, '', { total: 1 }),
      (transaction) => tasks.limit(transaction, topic, { total: 1 }, { kept: true } as object),
      (transaction) => tasks.admit(transaction, '', 1),
      (transaction) => tasks.admit(transaction, topic, -1),
      (transaction) => tasks.admit(transaction, topic, 1.5),
      (transaction) => tasks.admit(transaction, topic, 1, 'x' as never),
      (transaction) => tasks.takeTokens(transaction, '', 1),
      (transaction) => tasks.takeTokens(transaction, topic, -1),
      (transaction) => tasks.takeTokens(transaction, topic, 1_000_001),
      (transaction) => tasks.giveTokens(transaction, '', 1),
      (transaction) => tasks.giveTokens(transaction, topic, 0.5),
      (transaction) => tasks.giveTokens(transaction, topic, 1_000_001),
      (transaction) => tasks.takeSlots(transaction, '', { held: 0, wanted: 1 }),
      (transaction) => tasks.takeSlots(transaction, topic, { held: -1, wanted: 1 }),
      (transaction) => tasks.takeSlots(transaction, topic, { held: 0, wanted: 1_000_001 }),
      (transaction) => tasks.takeSlots(transaction, topic, { held: 1_000_001, wanted: 0 }),
      (transaction) => tasks.holdSlots(transaction, ''),
      (transaction) => tasks.freeSlots(transaction, -1),
    ]
    for (const verb of bad)
      expect(await codeOf(() => fixture.commit<unknown>((transaction) => verb(transaction) as unknown))).toBe('ARGUMENT_INVALID')
    for (const verb of [
      (transaction: AnyTransaction) => tasks.admit(transaction, topic, 0),
      (transaction: AnyTransaction) => tasks.takeTokens(transaction, topic, 1_000_000),
      (transaction: AnyTransaction) => tasks.giveTokens(transaction, topic, 1_000_000),
      (transaction: AnyTransaction) => tasks.takeSlots(transaction, topic, { held: 0, wanted: 1_000_000 }),
      (transaction: AnyTransaction) => tasks.takeSlots(transaction, topic, { held: 1_000_000, wanted: 0 }),
    ])
      await fixture.commit<unknown>((transaction) => verb(transaction) as unknown)
  })

  // Counting statements needs an adapter of the test's own.
  testWhere(engine.adapts !== false)('on entries count nothing where there is room, for a second', async () => {
    const { tasks, statements } = await countingOwner(fixture, clock.now)
    const admit = async (count: number): Promise<number> => {
      const before = statements()
      await fixture.commit<unknown>((transaction) => tasks.admit(transaction, fixture.topic, count))
      return statements() - before
    }
    await limit(fixture.topic, { maxEntries: { count: 9 } })
    expect(await admit(0)).toBe(0)
    expect(await admit(1)).toBeGreaterThan(1)
    for (const count of [2, 3, 2, 1]) expect(await admit(count)).toBe(1)
    // None were pushed, so there is room once they are counted.
    expect(await admit(1)).toBeGreaterThan(1)
    clock.advance(1_000)
    expect(await admit(1)).toBe(1)
    clock.advance(1)
    expect(await admit(1)).toBeGreaterThan(1)
  })
})
