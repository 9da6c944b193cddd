/** A junction starts a group when a task of each of its identifiers has arrived. */
import { TaskDecision } from '@taskstream/task-api'
import type { Junction, TaskCreation } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { codeOf, names, useFixture } from './fixture.ts'
import { part, testWhere } from './engine.ts'
import type { Part } from './engine.ts'

export const junction: Part = part('junction', (engine) => {
  const fixture = useFixture(engine, { topic: { keyed: true } })
  const junction = async (kind: Junction, ...groups: string[][]): Promise<string[]> =>
    [
      ...(await fixture.commit<ReadonlySet<string>>((transaction) =>
        fixture.tasks.junction(transaction, fixture.topic, kind, groups),
      )),
    ].toSorted()
  const suspend = (...identifiers: string[]): Promise<unknown> =>
    fixture.push(...identifiers.map((identifier): TaskCreation => ({ identifier, suspended: true })))

  test('starts a group when each of its identifiers is suspended', async () => {
    await suspend('a')
    expect(await junction('singular', ['a', 'b'])).toEqual([])
    await suspend('b')
    expect(await junction('singular', ['a', 'b'])).toEqual(['a', 'b'])
    expect(names(await fixture.poll(9))).toEqual(['a', 'b'])
    expect(await junction('singular', ['a', 'b'])).toEqual([])
  })

  test('counts distinct identifiers, not rows: two of one are not a group of two, and do not spoil one', async () => {
    await suspend('a', 'a')
    expect(await junction('singular', ['a', 'b'])).toEqual([])
    await suspend('b')
    expect(await junction('singular', ['a', 'b'])).toEqual(['a', 'b'])
    expect(await fixture.states()).toEqual({ ready: 3 })
  })

  test('singular is not satisfied by a sibling that is ready, active or done; eternal is', async () => {
    await suspend('a')
    await fixture.push('b')
    expect(await junction('singular', ['a', 'b'])).toEqual([])
    expect(await junction('eternal', ['a', 'b'])).toEqual(['a'])
    await suspend('c')
    await fixture.complete(await fixture.poll(9))
    expect(await junction('singular', ['c', 'b'])).toEqual([])
    expect(await junction('eternal', ['c', 'b'])).toEqual(['c'])
  })

  test('eternal is not satisfied by a redundant sibling', async () => {
    await fixture.commit((transaction) => fixture.tasks.push(transaction, fixture.topic, ['b', 'b'], { insertion: 'supersede' }))
    await fixture.commit((transaction) => fixture.tasks.purge(transaction, fixture.topic, { states: ['ready'] }))
    await suspend('a')
    expect(await fixture.states()).toEqual({ redundant: 1, suspended: 1 })
    expect(await junction('eternal', ['a', 'b'])).toEqual([])
  })

  test('judges each group by itself', async () => {
    await suspend('a', 'b', 'c')
    expect(await junction('singular', ['a', 'x'], ['b', 'c'], ['c', 'x'])).toEqual(['b', 'c'])
    expect(await fixture.states()).toEqual({ suspended: 1, ready: 2 })
  })

  test('starts what was suspended by a decision, too', async () => {
    await fixture.push('a', 'b')
    await fixture.complete(await fixture.poll(9), TaskDecision.suspension('until the other is here'))
    expect(await junction('singular', ['a', 'b'])).toEqual(['a', 'b'])
    expect(names(await fixture.poll(9))).toEqual(['a', 'b'])
  })

  test('never starts a task that waits for its due time', async () => {
    await fixture.push({ identifier: 'a', delayMs: 3_600_000 })
    await suspend('b')
    expect(await junction('singular', ['a', 'b'])).toEqual([])
    expect(await junction('eternal', ['a', 'b'])).toEqual(['b'])
    expect(await fixture.states()).toEqual({ delayed: 1, ready: 1 })
  })

  test('knows its own topic only', async () => {
    await suspend('a', 'b')
    await fixture.nextTopic({ keyed: true })
    await suspend('a')
    expect(await junction('singular', ['a', 'b'])).toEqual([])
  })

  test('keeps a singular condition', async () => {
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    await fixture.push('a')
    await suspend('a', 'b')
    const active = await fixture.poll(9)
    expect(await junction('singular', ['a', 'b'])).toEqual(['a', 'b'])
    expect(names(await fixture.poll(9))).toEqual(['b'])
    await fixture.complete(active)
    expect(names(await fixture.poll(9))).toEqual(['a'])
  })

  test('refuses groups that are none, by name and with nothing started', async () => {
    await suspend('a', 'b')
    // The transaction commits, so that what the verb had started before it threw would be seen.
    const refusal = (topic: string, groups: string[][], kind: Junction = 'singular'): Promise<unknown> =>
      fixture.commit((transaction) => codeOf(() => fixture.tasks.junction(transaction, topic, kind, groups)))
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
      expect(await refusal(fixture.topic, [['a'], ...groups])).toBe('ARGUMENT_INVALID')
    expect(await refusal(fixture.topic, [['a']], 'some' as Junction)).toBe('ARGUMENT_INVALID')
    expect(await junction('singular')).toEqual([])
    expect(await fixture.states()).toEqual({ suspended: 2 })
    await fixture.nextTopic()
    await suspend('a')
    expect(await refusal(fixture.topic, [['a']])).toBe('TOPIC_NOT_KEYED')
    expect(await refusal('nowhere', [['a']])).toBe('TOPIC_UNKNOWN')
    expect(await fixture.states()).toEqual({ suspended: 1 })
  })

  testWhere(engine.writers > 1)(
    'of two transactions that complete a group at the same time, the later one starts it',
    async () => {
      for (let round = 0; round < 20; round++) {
        await fixture.nextTopic({ keyed: true })
        const [one, two] = [await fixture.subject.session(), await fixture.subject.session()]
        const arrive = async (session: typeof one, identifier: string): Promise<ReadonlySet<string>> => {
          await session.begin()
          await fixture.tasks.push(session.transaction, fixture.topic, { identifier, suspended: true })
          const started = (await fixture.tasks.junction(session.transaction, fixture.topic, 'singular', [
            ['a', 'b'],
          ])) as ReadonlySet<string>
          await session.commit()
          return started
        }
        const started = await Promise.all([arrive(one, 'a'), arrive(two, 'b')])
        expect(started.map(({ size }) => size).toSorted()).toEqual([0, 2])
        await Promise.all([one.close(), two.close()])
      }
    },
  )
})
