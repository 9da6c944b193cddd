/** A limit on entries counts those of its topic, and what it drops leaves nothing behind. */
import type { Repair, TaskInfo, TopicLimits, TopicOptions } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { testClock } from '../test-clock.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'
import { codeOf, names, thrownBy, useFixture } from './fixture.ts'

export const entries: Part = part('a limit on entries', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now })

  const limit = (count: number, whenFull: 'reject' | 'drop-oldest', topic = fixture.topic): Promise<TopicLimits> =>
    fixture.commit<TopicLimits>((transaction) => fixture.tasks.limit(transaction, topic, { maxEntries: { count, whenFull } }))
  const admit = (count: number, externalIds: readonly string[] = [], topic = fixture.topic): Promise<unknown> =>
    fixture.commit<unknown>((transaction) => fixture.tasks.admit(transaction, topic, count, externalIds))
  const pushed = (identifiers: readonly string[], topic = fixture.topic): Promise<unknown> =>
    fixture.commit(async (transaction) => {
      await fixture.tasks.admit(transaction, topic, identifiers.length)
      await fixture.tasks.push(transaction, topic, identifiers)
    })
  const another = async (): Promise<string> => {
    const name = `${fixture.topic}-b`
    await fixture.commit<boolean>((transaction) => fixture.tasks.initialize(transaction, name))
    return name
  }

  test('counts those of its own topic', async () => {
    const other = await another()
    await limit(2, 'reject', other)
    await pushed(['a', 'b'], other)
    await limit(5, 'reject')
    await pushed(['c'])
    expect(await codeOf(() => pushed(['d'], other))).toBe('TOPIC_FULL')
    await pushed(['d', 'e', 'f', 'g'])
    expect(await codeOf(() => pushed(['h']))).toBe('TOPIC_FULL')
    // There is room in the other one once a second has passed, and none here.
    await fixture.commit((transaction) => fixture.tasks.purgeAll(transaction, other))
    clock.advance(1_001)
    await pushed(['h'], other)
    expect(await codeOf(() => pushed(['h']))).toBe('TOPIC_FULL')
  })

  test('has no room for an external id that stands in another topic', async () => {
    const other = await another()
    await fixture.commit((transaction) => fixture.tasks.push(transaction, other, { identifier: 'a', externalId: 'x' }))
    await limit(1, 'reject')
    await fixture.push({ identifier: 'a', externalId: 'y' })
    expect(await codeOf(() => admit(1, ['x']))).toBe('TOPIC_FULL')
    expect(await codeOf(() => admit(1, ['y']))).toBeUndefined()
    expect(await codeOf(() => admit(2, ['x', 'y']))).toBe('TOPIC_FULL')
  })

  test('that was lowered says how many more there are, and lets those through that are there already', async () => {
    await fixture.push({ identifier: 'a', externalId: 'x' }, 'b', 'c')
    await limit(1, 'reject')
    const error = await thrownBy(() => pushed(['d']))
    expect(error).toMatchObject({ code: 'TOPIC_FULL', data: { entries: expect.any(Number) as number, count: 1 } })
    expect((error as { data: { entries: number } }).data.entries).toBeGreaterThan(1)
    expect(await codeOf(() => admit(1, ['x']))).toBeUndefined()
    clock.advance(1_001)
    expect(await codeOf(() => admit(0, ['x']))).toBeUndefined()
    await limit(3, 'reject')
    expect(await codeOf(() => pushed(['d']))).toBe('TOPIC_FULL')
  })

  test('tells a push that can never be admitted from one that can be admitted later', async () => {
    await limit(2, 'reject')
    await pushed(['a'])
    const messageOf = async (...identifiers: readonly string[]): Promise<string> =>
      String(await thrownBy(() => pushed(identifiers)))
    expect(await messageOf('b', 'c')).toContain('push again when some of them have ended')
    expect(await messageOf('b', 'c', 'd')).toContain('push fewer at a time')
  })

  test('drops as many as it must, also of a large backlog, and says when', async () => {
    await fixture.push(...Array.from({ length: 300 }, (_, index) => `t${index}`))
    await limit(301, 'drop-oldest')
    await pushed(['new'])
    await pushed(Array.from({ length: 250 }, (_, index) => `new-${index}`))
    expect(await fixture.states()).toEqual({ filtered: 250, ready: 301 })
    expect(names(await fixture.poll(1))).toEqual(['t250'])
    const [first] = await fixture.page()
    expect(first).toMatchObject({ state: 'filtered', reason: 'dropped', completed: clock.now() } satisfies Partial<TaskInfo>)
  })

  test.each<TopicOptions>([
    {},
    { order: 'lifo' },
    { order: 'priority' },
    { order: 'shared' },
    { condition: 'singular-by-identifier' },
    { condition: 'singular-by-identifier-suspend-on-failure' },
  ])('drops the oldest in a topic with %j, and the others of an identifier go on', async (options) => {
    await fixture.nextTopic(options)
    await limit(3, 'drop-oldest')
    await pushed(['b', 'a', 'a'])
    const [held] = await fixture.poll(1)
    await pushed(['c'])
    expect(await fixture.states()).toEqual({ active: 1, filtered: 1, ready: 2 })
    expect(names(await fixture.poll(9)).toSorted()).toEqual(['a', 'c'])
    const repaired = await fixture.commit<Repair>((transaction) => fixture.tasks.repair(transaction, fixture.topic))
    expect(repaired).toMatchObject({ corrected: 0, listed: 0, noted: 0, left: 0 })
    await fixture.complete([held!])
  })
})
