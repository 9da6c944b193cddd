/** A look at several topics overlooks nothing that a poll would find, and takes nothing. */
import { TaskDecision } from '@taskstream/task-api'
import type { PeekedTopic, TopicOptions } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { testClock } from '../test-clock.ts'
import { part, testWhere } from './engine.ts'
import type { Part } from './engine.ts'
import { codeOf, countingOwner, names, useFixture } from './fixture.ts'

const modes: readonly TopicOptions[] = [
  {},
  { keyed: true },
  { order: 'lifo' },
  { order: 'priority' },
  { order: 'shared' },
  { condition: 'singular-by-identifier' },
]

export const peek: Part = part('a look at several topics', (engine) => {
  const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
  const fixture = useFixture(engine, { clock: clock.now })
  const { success } = TaskDecision
  const peekAt = (...topics: readonly string[]): Promise<ReadonlyMap<string, PeekedTopic>> =>
    fixture.commit<ReadonlyMap<string, PeekedTopic>>((transaction) => fixture.tasks.peek(transaction, topics))
  const here = async (): Promise<PeekedTopic | undefined> => (await peekAt(fixture.topic)).get(fixture.topic)
  /** What is seen after a poll that has found nothing. While polls still learn how far the topic is done, a look sends them to work. */
  const settled = async (): Promise<PeekedTopic | undefined> => {
    expect(await fixture.poll()).toEqual([])
    return here()
  }
  const nothing = { ready: false, blocked: false }
  const ready = { ready: true, blocked: false }

  test.each(modes)('of the mode %o sees what is ready, whoever has made it so', async (mode) => {
    await fixture.nextTopic(mode)
    expect(await here()).toEqual(nothing)
    await fixture.push('a', 'b')
    expect(await here()).toEqual(ready)
    const held = await fixture.poll()
    expect(names(held).toSorted()).toEqual(['a', 'b'])
    await expect.poll(settled).toEqual(nothing)
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, held.slice(0, 1)))
    expect(await here()).toEqual(ready)
    await fixture.complete(await fixture.poll(1))
    await fixture.complete(held.slice(1))
    await expect.poll(settled).toEqual(nothing)
    await fixture.push('c')
    expect(await here()).toEqual(ready)
    const [c] = await fixture.poll()
    await fixture.complete([c!])
    await expect.poll(settled).toEqual(nothing)
    await fixture.commit((transaction) => fixture.tasks.recreate(transaction, fixture.topic, 'reset', [c!]))
    expect(await here()).toEqual(ready)
  })

  test('sees that a poll has to look for the next task of an identifier, until one has, though there is none', async () => {
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    const [a] = await fixture.push('a')
    await fixture.commit((transaction) => fixture.tasks.cancel(transaction, fixture.topic, [a!.sequence]))
    expect(await here()).toEqual(ready)
    await expect.poll(settled).toEqual(nothing)
  })

  test('sees what waits for its time, for how long it does, and that its time has come', async () => {
    await fixture.push(
      { identifier: 'a', delayMs: 2_000 },
      { identifier: 'b', delayMs: 3_000 },
      { identifier: 'c', suspended: true },
    )
    expect(await here()).toEqual({ ...nothing, nextDueMs: 2_000 })
    clock.advance(1_999)
    expect(await here()).toEqual({ ...nothing, nextDueMs: 1 })
    clock.advance(501)
    expect(await here()).toEqual({ ...nothing, nextDueMs: 0 })
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    expect(await here()).toEqual({ ...ready, nextDueMs: 500 })
    const [a] = await fixture.poll()
    await fixture.complete([a!], TaskDecision.retry({ afterMs: 100 }))
    await expect.poll(settled).toEqual({ ...nothing, nextDueMs: 100 })
  })

  test('sees that tasks wait for others', async () => {
    await fixture.nextTopic({ keyed: true })
    const [a, b] = await fixture.push({ identifier: 'a', suspended: true }, { identifier: 'b', suspended: true })
    await fixture.commit<unknown>((transaction) => fixture.tasks.depend(transaction, b!, [{ need: 'a', on: a! }]) as unknown)
    expect(await here()).toEqual({ ready: false, blocked: true })
    await fixture.push({ identifier: 'c', delayMs: 7 })
    expect(await here()).toEqual({ ready: false, blocked: true, nextDueMs: 7 })
  })

  test('tells topics apart, also many of them, and knows nothing of those that nobody has initialized', async () => {
    const topics: string[] = []
    for (let index = 0; index < 120; index++) {
      await fixture.nextTopic()
      topics.push(fixture.topic)
      if (index === 50) await fixture.push({ identifier: 'late', delayMs: 5_000 })
      if (index === 110) await fixture.push('now')
    }
    const found = await peekAt('nobody’s', ...topics, topics[110]!)
    expect([...found.keys()].toSorted()).toEqual(topics.toSorted())
    const busy = [...found].filter(([, { ready, nextDueMs }]) => ready || nextDueMs !== undefined)
    expect(Object.fromEntries(busy)).toEqual({ [topics[50]!]: { ...nothing, nextDueMs: 5_000 }, [topics[110]!]: ready })
    expect(await peekAt()).toEqual(new Map())
  })

  testWhere(engine.adapts !== false)('asks one statement for a hundred topics', async () => {
    const { tasks, statements } = await countingOwner(fixture)
    const before = statements()
    const topics = Array.from({ length: 100 }, (_, index) => `none-${index}`)
    await fixture.commit<unknown>((transaction) => tasks.peek(transaction, [fixture.topic, ...topics.slice(1)]) as unknown)
    expect(statements() - before).toBe(1)
  })

  testWhere(engine.writers > 1)('sees what is committed late, behind others that have ended', async () => {
    const session = await fixture.subject.session()
    await session.begin()
    await fixture.tasks.push(session.transaction, fixture.topic, 'late')
    await fixture.push('soon')
    const held = await fixture.poll()
    expect(names(held)).toEqual(['soon'])
    await fixture.complete(held)
    for (let count = 0; count < 3; count++) expect(await fixture.poll()).toEqual([])
    await session.commit()
    expect(await here()).toEqual(ready)
    expect(names(await fixture.poll())).toEqual(['late'])
    await session.close()
  })

  test('refuses what is no list of topics', async () => {
    for (const topics of ['a', undefined, [''], [7], Array.from({ length: 10_001 }, () => 'a')])
      expect(
        await codeOf(() =>
          fixture.commit<unknown>((transaction) => fixture.tasks.peek(transaction, topics as string[]) as unknown),
        ),
      ).toBe('ARGUMENT_INVALID')
  })

  test('takes nothing: what it has seen is polled', async () => {
    await fixture.push('a')
    await here()
    const held = await fixture.poll()
    expect(names(held)).toEqual(['a'])
    expect(await fixture.complete(held, success())).toMatchObject({ lost: [] })
  })
})
