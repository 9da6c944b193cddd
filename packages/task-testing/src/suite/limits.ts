/** Limits of topics are kept by all owners together. */
import { TaskDecision } from '@taskstream/task-api'
import type { Expiry, SlotGrant, TaskInfo, TokenGrant, TopicLimits } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { testClock } from '../test-clock.ts'
import { part } from './engine.ts'
import type { Part, Tasks } from './engine.ts'
import { codeOf, names, thrownBy, useFixture } from './fixture.ts'

export const limits: Part = part('a limit', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now })
  const { failure, retry, success } = TaskDecision

  const limit = (given: TopicLimits, keep = false): Promise<TopicLimits> =>
    fixture.commit<TopicLimits>((transaction) => fixture.tasks.limit(transaction, fixture.topic, given, { keep }))
  const slots = async (by: Tasks, held: number, wanted: number): Promise<number | undefined> => {
    const grant = await fixture.commit<SlotGrant>((transaction) => by.takeSlots(transaction, fixture.topic, { held, wanted }))
    return grant.slots
  }
  const tokens = (wanted: number): Promise<TokenGrant> =>
    fixture.commit<TokenGrant>((transaction) => fixture.tasks.takeTokens(transaction, fixture.topic, wanted))
  const pushed = (...identifiers: readonly string[]): Promise<unknown> =>
    fixture.commit(async (transaction) => {
      await fixture.tasks.admit(transaction, fixture.topic, identifiers.length)
      await fixture.tasks.push(transaction, fixture.topic, identifiers)
    })
  const expire = (by: Tasks): Promise<Expiry> =>
    fixture.commit<Expiry>((transaction) => by.expire(transaction, { olderThanMs: 10_000, then: 'ready' }))
  const free = (): Promise<number> => fixture.commit<number>((transaction) => fixture.tasks.freeSlots(transaction, 10_000))
  const pageOf = (topic: string): Promise<TaskInfo[]> =>
    fixture.commit<TaskInfo[]>((transaction) => fixture.tasks.page(transaction, topic))
  /** Makes another topic, and the first one the current one again. */
  const another = async (): Promise<string> => {
    const name = `${fixture.topic}-dead`
    await fixture.commit<boolean>((transaction) => fixture.tasks.initialize(transaction, name))
    return name
  }

  test('on all tasks at a time is shared among owners that want more', async () => {
    const rival = await fixture.owner()
    expect(await slots(fixture.tasks, 0, 8)).toBeUndefined()
    await limit({ total: 10 })
    expect(await slots(fixture.tasks, 0, 8)).toBe(8)
    expect(await slots(rival, 0, 8)).toBe(2)
    // Nobody loses slots whose tasks he holds.
    expect(await slots(fixture.tasks, 8, 8)).toBe(8)
    expect(await slots(fixture.tasks, 6, 8)).toBe(6)
    expect(await slots(rival, 2, 8)).toBe(4)
    expect(await slots(fixture.tasks, 4, 8)).toBe(5)
    expect(await slots(rival, 4, 8)).toBe(5)
    expect(await slots(fixture.tasks, 0, 2)).toBe(2)
    expect(await slots(rival, 5, 8)).toBe(8)
    expect(await slots(rival, 0, 0)).toBe(0)
    expect(await slots(fixture.tasks, 0, 20)).toBe(10)
  })

  test('on all tasks at a time that is lowered takes nothing from those who hold more', async () => {
    await limit({ total: 10 })
    expect(await slots(fixture.tasks, 0, 10)).toBe(10)
    await limit({ total: 3 })
    expect(await slots(fixture.tasks, 10, 10)).toBe(10)
    expect(await slots(await fixture.owner(), 0, 5)).toBe(0)
    expect(await slots(fixture.tasks, 2, 10)).toBe(2)
    await limit({})
    expect(await slots(fixture.tasks, 2, 10)).toBeUndefined()
  })

  test('on all tasks at a time gives the slots of a dead owner to others once its tasks are expired', async () => {
    await limit({ total: 2 })
    const dead = await fixture.owner()
    expect(await slots(dead, 0, 2)).toBe(2)
    await fixture.push('a')
    await fixture.poll(1, dead)
    expect(await slots(fixture.tasks, 0, 2)).toBe(0)
    await expire(fixture.tasks)
    expect(await free()).toBe(0)
    expect(await slots(fixture.tasks, 0, 2)).toBe(0)
    clock.advance(10_001)
    await fixture.commit((transaction) => fixture.tasks.heartbeat(transaction))
    await free()
    expect(await slots(fixture.tasks, 0, 2)).toBe(0)
    expect(await expire(fixture.tasks)).toMatchObject({ ready: 1 })
    expect(await free()).toBe(1)
    expect(await slots(fixture.tasks, 0, 2)).toBe(2)
  })

  test('on a rate gives what has gathered, and then one after the other', async () => {
    expect(await tokens(100)).toEqual({ taken: 100 })
    await limit({ rate: { count: 10, perMs: 1_000 } })
    expect(await tokens(4)).toEqual({ taken: 4 })
    expect(await tokens(10)).toEqual({ taken: 6, nextMs: 100 })
    expect(await tokens(1)).toEqual({ taken: 0, nextMs: 100 })
    clock.advance(99)
    expect(await tokens(1)).toEqual({ taken: 0, nextMs: 1 })
    clock.advance(1)
    expect(await tokens(2)).toEqual({ taken: 1, nextMs: 100 })
    clock.advance(3_600_000)
    expect(await tokens(20)).toEqual({ taken: 10, nextMs: 100 })
  })

  test('on a rate gives one by one what it gives at once, and takes back what it gave', async () => {
    await limit({ rate: { count: 3, perMs: 1_000 } })
    for (let count = 0; count < 3; count++) expect(await tokens(1)).toEqual({ taken: 1 })
    expect(await tokens(1)).toEqual({ taken: 0, nextMs: 334 })
    await fixture.commit((transaction) => fixture.tasks.giveTokens(transaction, fixture.topic, 1))
    expect(await tokens(1)).toEqual({ taken: 1 })
    // Of a million in half a second each is worth half a microsecond, and none is for nothing.
    await limit({ rate: { count: 1_000_000, perMs: 500 } })
    clock.advance(3_600_000)
    for (let count = 0; count < 10; count++) await tokens(1)
    expect(await tokens(1_000_000)).toMatchObject({ taken: 999_980 })
  })

  test('on a rate counts neither what was given back nor what was rolled back', async () => {
    await limit({ rate: { count: 10, perMs: 1_000 } })
    await tokens(10)
    await fixture.commit((transaction) => fixture.tasks.giveTokens(transaction, fixture.topic, 7))
    const rollback = fixture.commit(async (transaction) => {
      expect(await fixture.tasks.takeTokens(transaction, fixture.topic, 7)).toEqual({ taken: 7 })
      throw new Error('rolled back')
    })
    await expect(rollback).rejects.toThrow('rolled back')
    expect(await tokens(10)).toEqual({ taken: 7, nextMs: 100 })
  })

  test('on a rate is no longer empty than its time after the clock was set back', async () => {
    await limit({ rate: { count: 2, perMs: 1_000 } })
    await tokens(2)
    clock.set(new Date(clock.now().getTime() - 3_600_000))
    expect(await tokens(1)).toEqual({ taken: 0, nextMs: 500 })
    clock.advance(500)
    expect(await tokens(1)).toEqual({ taken: 1 })
    clock.advance(3_600_000)
  })

  test('on entries refuses a push that would exceed it, until a task has ended', async () => {
    await limit({ maxEntries: { count: 3 } })
    await pushed('a', 'b')
    expect(await codeOf(() => pushed('c', 'd'))).toBe('TOPIC_FULL')
    await pushed('c')
    const error = await thrownBy(() => pushed('d'))
    expect(error).toMatchObject({ code: 'TOPIC_FULL', data: { topic: fixture.topic, entries: 3, count: 3 } })
    const [held] = await fixture.poll(1)
    expect(await codeOf(() => pushed('d'))).toBe('TOPIC_FULL')
    await fixture.complete([held!], retry({ afterMs: 60_000 }))
    expect(await codeOf(() => pushed('d'))).toBe('TOPIC_FULL')
    await fixture.complete(await fixture.poll(1))
    await pushed('d')
    expect(await fixture.states()).toEqual({ ready: 2, delayed: 1, succeeded: 1 })
  })

  test('on entries that is rolled back takes no room', async () => {
    await limit({ maxEntries: { count: 1 } })
    const rollback = fixture.commit(async (transaction) => {
      await fixture.tasks.admit(transaction, fixture.topic, 1)
      throw new Error('rolled back')
    })
    await expect(rollback).rejects.toThrow('rolled back')
    await pushed('a')
    expect(await fixture.states()).toEqual({ ready: 1 })
  })

  test('on entries that is set on a topic with tasks counts them', async () => {
    await fixture.push('a', 'b')
    await limit({ maxEntries: { count: 3 } })
    await pushed('c')
    expect(await codeOf(() => pushed('d'))).toBe('TOPIC_FULL')
    await limit({ maxEntries: { count: 4 } })
    await pushed('d')
    expect(await codeOf(() => pushed('e'))).toBe('TOPIC_FULL')
  })

  test('on entries counts within a second what was made ready again, or pushed without asking', async () => {
    await limit({ maxEntries: { count: 3 } })
    await pushed('a', 'b', 'c')
    const held = await fixture.poll(3)
    await fixture.complete(held, failure())
    await pushed('d')
    await fixture.commit<unknown>((transaction) => fixture.tasks.recreate(transaction, fixture.topic, 'reset', held))
    clock.advance(1_001)
    expect(await codeOf(() => pushed('e'))).toBe('TOPIC_FULL')
    expect(await fixture.states()).toEqual({ ready: 4 })
  })

  test('on entries has room for a task that is there already', async () => {
    await limit({ maxEntries: { count: 1, whenFull: 'drop-oldest' } })
    await fixture.push({ identifier: 'a', externalId: 'x' })
    await fixture.commit((transaction) => fixture.tasks.admit(transaction, fixture.topic, 1, ['x']))
    expect(await fixture.states()).toEqual({ ready: 1 })
    await fixture.commit((transaction) => fixture.tasks.admit(transaction, fixture.topic, 1, ['y']))
    expect(await fixture.states()).toEqual({ filtered: 1 })
    // Of one that stands there twice, one is pushed.
    await fixture.commit((transaction) => fixture.tasks.admit(transaction, fixture.topic, 2, ['z', 'z']))
  })

  test('with dead letters that was rolled back makes no copies', async () => {
    const dead = await another()
    await fixture.push('a', 'b')
    const [a, b] = await fixture.poll(2)
    const rolledBack = fixture.commit(async (transaction) => {
      await fixture.tasks.limit(transaction, fixture.topic, { deadLetter: dead })
      await fixture.tasks.complete(transaction, fixture.topic, new Map([[a!, failure()]]))
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    await fixture.complete([b!], failure())
    expect(await pageOf(dead)).toEqual([])
  })

  test('on entries drops the oldest ready tasks, if it is asked to', async () => {
    await limit({ maxEntries: { count: 3, whenFull: 'drop-oldest' } })
    await pushed('a', 'b', 'c')
    const [a] = await fixture.poll(1)
    await pushed('d')
    expect(names(await fixture.poll(9))).toEqual(['c', 'd'])
    expect((await fixture.page()).find(({ identifier }) => identifier === 'b')).toMatchObject({
      state: 'filtered',
      reason: 'dropped',
    })
    // Nothing is ready any more.
    expect(await codeOf(() => pushed('e'))).toBe('TOPIC_FULL')
    await fixture.complete([a!])
    await pushed('e')
    expect(await codeOf(() => pushed('f', 'g', 'h', 'i'))).toBe('TOPIC_FULL')
  })

  test('on entries that refuses a push has dropped nothing for it', async () => {
    await limit({ maxEntries: { count: 3, whenFull: 'drop-oldest' } })
    await pushed('a', 'b', 'c')
    await fixture.poll(2)
    // One could be dropped, and two are too many. The caller goes on without the push.
    await fixture.commit(async (transaction) => {
      expect(await codeOf(() => fixture.tasks.admit(transaction, fixture.topic, 2))).toBe('TOPIC_FULL')
    })
    expect(await fixture.states()).toEqual({ active: 2, ready: 1 })
  })

  test('with dead letters pushes a copy of each task that fails, once', async () => {
    const dead = await another()
    await limit({ deadLetter: dead })
    await fixture.push(
      { identifier: 'a', input: '1', headers: { kind: 'x' }, priority: 3 },
      'b',
      { identifier: 'c', maxTries: 1 },
      'd',
    )
    const [a, b, c, d] = await fixture.poll(4)
    await fixture.complete([a!], failure(new Error('broken')))
    await fixture.complete([b!], success())
    await fixture.complete([c!, d!], retry({ afterMs: 1_000 }))
    const copies = await pageOf(dead)
    expect(copies).toMatchObject([
      {
        identifier: 'a',
        input: '1',
        priority: 3,
        state: 'ready',
        headers: { kind: 'x', dead: { topic: fixture.topic, sequence: a!.sequence } },
      },
      { identifier: 'c', externalId: `${fixture.topic}/${c!.sequence}` },
    ])
    expect(copies).toHaveLength(2)
    // A task that is reset and fails again has its copy already.
    await fixture.commit<unknown>((transaction) => fixture.tasks.recreate(transaction, fixture.topic, 'reset', [a!]))
    await fixture.complete(await fixture.poll(1), failure())
    expect(await pageOf(dead)).toHaveLength(2)
  })

  test('with dead letters has a copy of a task whose owner died at its last try', async () => {
    const dead = await another()
    await limit({ deadLetter: dead })
    const rival = await fixture.owner()
    await fixture.push({ identifier: 'a', input: '1', maxTries: 1 }, 'b')
    await fixture.poll(2, rival)
    clock.advance(10_001)
    await fixture.commit((transaction) => fixture.tasks.heartbeat(transaction))
    expect(await expire(fixture.tasks)).toMatchObject({ failed: 1, ready: 1 })
    expect(await pageOf(dead)).toMatchObject([{ identifier: 'a', input: '1' }])
  })

  test('with dead letters whose topic was destroyed keeps no task from failing', async () => {
    const dead = await another()
    await limit({ deadLetter: dead })
    await fixture.commit<boolean>((transaction) => fixture.tasks.destroy(transaction, dead))
    await fixture.push('a')
    await fixture.complete(await fixture.poll(1), failure())
    expect(await fixture.states()).toEqual({ failed: 1 })
  })
})
