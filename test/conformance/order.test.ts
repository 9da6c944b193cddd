import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskError } from '@taskstream/task-api'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { codeOf, names, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

describe.skipIf(!canRun)('the order of a topic', () => {
  let it: Fixture
  beforeAll(async () => void (it = await openFixture()))
  afterAll(() => it[Symbol.asyncDispose]())

  test('lifo: the latest first, in every batch, and what comes back takes its old place', async () => {
    await it.nextTopic({ order: 'lifo' })
    await it.push('a', 'b', 'c')
    await it.push('d')
    expect(names(await it.poll(1))).toEqual(['d'])
    const [c] = await it.poll(1)
    expect(names([c!])).toEqual(['c'])
    await it.push('e')
    await it.commit((transaction) => it.tasks.handBack(transaction, it.topic, [c!]))
    expect(names(await it.poll(10))).toEqual(['e', 'c', 'b', 'a'])
    expect(await it.poll(10)).toEqual([])
  })

  test('priority: the highest first, then the earliest; below zero comes last', async () => {
    await it.nextTopic({ order: 'priority' })
    await it.push(
      'plain-1',
      { identifier: 'urgent-1', priority: 10 },
      { identifier: 'last', priority: -1 },
      { identifier: 'urgent-2', priority: 10 },
      { identifier: 'first', priority: 32_767 },
      'plain-2',
    )
    expect(names(await it.poll(2))).toEqual(['first', 'urgent-1'])
    const [again] = await it.poll(1)
    await it.commit((transaction) => it.tasks.handBack(transaction, it.topic, [again!]))
    expect(names(await it.poll(10))).toEqual(['urgent-2', 'plain-1', 'plain-2', 'last'])
  })

  test('priority counts for nothing in a topic without it', async () => {
    await it.nextTopic()
    await it.push('a', { identifier: 'b', priority: 5 })
    expect(names(await it.poll(2))).toEqual(['a', 'b'])
  })

  test('holds for what is delayed, retried and expired too', async () => {
    await it.nextTopic({ order: 'priority' })
    await it.push({ identifier: 'low', priority: 1 }, { identifier: 'high', priority: 9, delayMs: 1 })
    const [low] = await it.poll(1)
    await it.complete([low!], TaskDecision.retry({ afterMs: 0 }))
    const released = async (): Promise<number> =>
      (await it.commit<{ released: number }>((transaction) => it.tasks.release(transaction, it.topic))).released
    let count = 0
    await expect.poll(async () => (count += await released()), { interval: 2 }).toBe(2)
    const rival = await it.owner()
    expect(names(await it.poll(1, rival))).toEqual(['high'])
    await it.commit((transaction) => rival.unregister(transaction))
    await it.commit((transaction) => it.tasks.expire(transaction, { olderThanMs: 60_000, then: 'ready' }))
    expect(names(await it.poll(2))).toEqual(['high', 'low'])
  })

  test('is asked for by name, and refused by name where it is another', async () => {
    await it.nextTopic({ order: 'lifo' })
    await it.push('a', 'b')
    const poll = (options: object): Promise<HeldTask[]> =>
      it.commit<HeldTask[]>((transaction) => it.tasks.poll(transaction, it.topic, { size: 1, ...options }))
    expect(names(await poll({ order: 'lifo', condition: 'none' }))).toEqual(['b'])
    for (const options of [{ order: 'fifo' }, { order: 'priority' }, { condition: 'singular-by-identifier' }]) {
      const error = (await poll(options).catch((thrown: unknown) => thrown)) as TaskError
      expect(error).toMatchObject({ code: 'TOPIC_DIFFERENT', data: { topic: it.topic, found: { order: 'lifo' } } })
    }
    expect(await codeOf(() => poll({ order: 'random' }))).toBe('ARGUMENT_INVALID')
    expect(await codeOf(() => poll({ condition: 'single' }))).toBe('ARGUMENT_INVALID')
    expect(names(await it.poll(2))).toEqual(['a'])
  })

  test('stays: initialising a topic again with other options is refused, with the same it is not', async () => {
    await it.nextTopic({ order: 'lifo' })
    const initialize = (options: object): Promise<unknown> =>
      codeOf(() => it.commit((transaction) => it.tasks.initialize(transaction, it.topic, options)))
    expect(await initialize({ order: 'lifo' })).toBe(false)
    expect(await initialize({})).toBe('TOPIC_DIFFERENT')
    expect(await initialize({ order: 'lifo', condition: 'singular-by-identifier' })).toBe('TOPIC_DIFFERENT')
    expect(await initialize({ order: 'lifo', keyed: true })).toBe('TOPIC_NOT_KEYED')
    expect(await initialize({ order: 'sideways' })).toBe('ARGUMENT_INVALID')
    expect(await initialize({ condition: 'singular-by-identifier', keyed: false })).toBe('ARGUMENT_INVALID')
  })

  test('is changed as the error says: under another name, or once the topic was destroyed', async () => {
    await it.nextTopic()
    const supersede = (topic: string): Promise<unknown> =>
      it.commit<unknown>((transaction) => it.tasks.push(transaction, topic, 'a', { insertion: 'supersede' }))
    const initialize = (topic: string): Promise<unknown> =>
      it.commit<unknown>((transaction) => it.tasks.initialize(transaction, topic, { keyed: true }))
    for (const work of [supersede, initialize]) {
      const error = (await work(it.topic).catch((thrown: unknown) => thrown)) as TaskError
      expect(error).toMatchObject({ code: 'TOPIC_NOT_KEYED', data: { topic: it.topic } })
      expect(error.message).toContain('keeps the options it was initialised with')
      expect(error.message).toContain('another topic with { keyed: true }')
      expect(error.message).toContain(`destroy(transaction, "${it.topic}")`)
    }
    const other = `${it.topic}-keyed`
    expect(await initialize(other)).toBe(true)
    expect(await supersede(other)).toMatchObject([{ outcome: 'created' }])
    await it.commit((transaction) => it.tasks.destroy(transaction, it.topic))
    expect(await initialize(it.topic)).toBe(true)
    expect(await supersede(it.topic)).toMatchObject([{ outcome: 'created' }])
  })

  test('is learned anew when a topic is destroyed and made again with another', async () => {
    await it.nextTopic({ order: 'lifo' })
    await it.push('a', 'b')
    expect(names(await it.poll(2))).toEqual(['b', 'a'])
    for (const [options, expected] of [
      [{}, ['a', 'b']],
      [{ order: 'priority' as const }, ['a', 'b']],
      [{ condition: 'singular-by-identifier' as const }, ['a', 'b']],
      [{ order: 'lifo' as const }, ['b', 'a']],
    ] as const) {
      await it.commit((transaction) => it.tasks.destroy(transaction, it.topic))
      await it.commit((transaction) => it.tasks.initialize(transaction, it.topic, options))
      await it.push('a', 'b')
      expect(names(await it.poll(2))).toEqual(expected)
    }
  })

  testOn(['postgres'])('passes over what another transaction is polling, without waiting', async () => {
    for (const order of ['lifo', 'priority'] as const) {
      await it.nextTopic({ order })
      await it.push('a', 'b', 'c')
      const expected = order === 'lifo' ? ['c', 'b', 'a'] : ['a', 'b', 'c']
      const [one, two] = [await it.subject.session(), await it.subject.session()]
      await one.begin()
      await two.begin()
      expect(names((await it.tasks.poll(one.transaction, it.topic, { size: 2 })) as HeldTask[])).toEqual(expected.slice(0, 2))
      expect(names((await it.tasks.poll(two.transaction, it.topic, { size: 2 })) as HeldTask[])).toEqual(expected.slice(2))
      await one.rollback()
      await two.rollback()
      expect(names(await it.poll(3))).toEqual(expected)
    }
  })
})
