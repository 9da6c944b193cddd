import { TaskDecision } from '@taskstream/task-api'
import type { Junction, TaskCreation } from '@taskstream/task-api'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { codeOf, names, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

describe.skipIf(!canRun)('junction', () => {
  let it: Fixture
  beforeAll(async () => void (it = await openFixture()))
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(() => it.nextTopic({ keyed: true }))
  const junction = async (kind: Junction, ...groups: string[][]): Promise<string[]> =>
    [
      ...(await it.commit<ReadonlySet<string>>((transaction) => it.tasks.junction(transaction, it.topic, kind, groups))),
    ].toSorted()
  const suspend = (...identifiers: string[]): Promise<unknown> =>
    it.push(...identifiers.map((identifier): TaskCreation => ({ identifier, suspended: true })))

  test('starts a group when each of its identifiers is suspended', async () => {
    await suspend('a')
    expect(await junction('singular', ['a', 'b'])).toEqual([])
    await suspend('b')
    expect(await junction('singular', ['a', 'b'])).toEqual(['a', 'b'])
    expect(names(await it.poll(9))).toEqual(['a', 'b'])
    expect(await junction('singular', ['a', 'b'])).toEqual([])
  })

  test('counts distinct identifiers, not rows: two of one are not a group of two, and do not spoil one', async () => {
    await suspend('a', 'a')
    expect(await junction('singular', ['a', 'b'])).toEqual([])
    await suspend('b')
    expect(await junction('singular', ['a', 'b'])).toEqual(['a', 'b'])
    expect(await it.states()).toEqual({ ready: 3 })
  })

  test('singular is not satisfied by a sibling that is ready, active or done; eternal is', async () => {
    await suspend('a')
    await it.push('b')
    expect(await junction('singular', ['a', 'b'])).toEqual([])
    expect(await junction('eternal', ['a', 'b'])).toEqual(['a'])
    await suspend('c')
    await it.complete(await it.poll(9))
    expect(await junction('singular', ['c', 'b'])).toEqual([])
    expect(await junction('eternal', ['c', 'b'])).toEqual(['c'])
  })

  test('eternal is not satisfied by a redundant sibling', async () => {
    await it.commit((transaction) => it.tasks.push(transaction, it.topic, ['b', 'b'], { insertion: 'supersede' }))
    await it.commit((transaction) => it.tasks.purge(transaction, it.topic, { states: ['ready'] }))
    await suspend('a')
    expect(await it.states()).toEqual({ redundant: 1, suspended: 1 })
    expect(await junction('eternal', ['a', 'b'])).toEqual([])
  })

  test('judges each group by itself', async () => {
    await suspend('a', 'b', 'c')
    expect(await junction('singular', ['a', 'x'], ['b', 'c'], ['c', 'x'])).toEqual(['b', 'c'])
    expect(await it.states()).toEqual({ suspended: 1, ready: 2 })
  })

  test('starts what was suspended by a decision, too', async () => {
    await it.push('a', 'b')
    await it.complete(await it.poll(9), TaskDecision.suspension('until the other is here'))
    expect(await junction('singular', ['a', 'b'])).toEqual(['a', 'b'])
    expect(names(await it.poll(9))).toEqual(['a', 'b'])
  })

  test('never starts a task that waits for its due time', async () => {
    await it.push({ identifier: 'a', delayMs: 3_600_000 })
    await suspend('b')
    expect(await junction('singular', ['a', 'b'])).toEqual([])
    expect(await junction('eternal', ['a', 'b'])).toEqual(['b'])
    expect(await it.states()).toEqual({ delayed: 1, ready: 1 })
  })

  test('knows its own topic only', async () => {
    await suspend('a', 'b')
    await it.nextTopic({ keyed: true })
    await suspend('a')
    expect(await junction('singular', ['a', 'b'])).toEqual([])
  })

  test('keeps a singular condition', async () => {
    await it.nextTopic({ condition: 'singular-by-identifier' })
    await it.push('a')
    await suspend('a', 'b')
    const active = await it.poll(9)
    expect(await junction('singular', ['a', 'b'])).toEqual(['a', 'b'])
    expect(names(await it.poll(9))).toEqual(['b'])
    await it.complete(active)
    expect(names(await it.poll(9))).toEqual(['a'])
  })

  test('refuses groups that are none, by name and with nothing started', async () => {
    await suspend('a', 'b')
    for (const groups of [
      [[]],
      [
        ['a', 'b'],
        ['a', 'a'],
      ],
      ['a'],
      [['']],
      [['a', 7]],
    ] as string[][][])
      expect(await codeOf(() => junction('singular', ...groups))).toBe('ARGUMENT_INVALID')
    expect(await codeOf(() => junction('some' as Junction, ['a']))).toBe('ARGUMENT_INVALID')
    expect(await junction('singular')).toEqual([])
    expect(await it.states()).toEqual({ suspended: 2 })
    await it.nextTopic()
    expect(await codeOf(() => junction('singular', ['a']))).toBe('TOPIC_NOT_KEYED')
    expect(await codeOf(() => it.commit((transaction) => it.tasks.junction(transaction, 'nowhere', 'singular', [['a']])))).toBe(
      'TOPIC_UNKNOWN',
    )
  })

  testOn(['postgres'])('of two transactions that complete a group at the same time, the later one starts it', async () => {
    for (let round = 0; round < 20; round++) {
      await it.nextTopic({ keyed: true })
      const [one, two] = [await it.subject.session(), await it.subject.session()]
      const arrive = async (session: typeof one, identifier: string): Promise<ReadonlySet<string>> => {
        await session.begin()
        await it.tasks.push(session.transaction, it.topic, { identifier, suspended: true })
        const started = (await it.tasks.junction(session.transaction, it.topic, 'singular', [['a', 'b']])) as ReadonlySet<string>
        await session.commit()
        return started
      }
      const started = await Promise.all([arrive(one, 'a'), arrive(two, 'b')])
      expect(started.map(({ size }) => size).toSorted()).toEqual([0, 2])
      await Promise.all([one.close(), two.close()])
    }
  })
})
