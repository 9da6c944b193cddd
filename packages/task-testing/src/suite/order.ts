/** Topics of the orders `lifo` and `priority` are polled in that order. */
import { pollConditions, pollOrders, TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskError } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { codeOf, names, openFixture, thrownBy, whileTested } from './fixture.ts'
import { part, testWhere } from './engine.ts'
import type { Part } from './engine.ts'

export const order: Part = part('the order of a topic', (engine) => {
  const fixture = whileTested(() => openFixture(engine))

  test('lifo: the latest first, in every batch, and what comes back takes its old place', async () => {
    await fixture.nextTopic({ order: 'lifo' })
    await fixture.push('a', 'b', 'c')
    await fixture.push('d')
    expect(names(await fixture.poll(1))).toEqual(['d'])
    const [c] = await fixture.poll(1)
    expect(names([c!])).toEqual(['c'])
    await fixture.push('e')
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [c!]))
    expect(names(await fixture.poll(10))).toEqual(['e', 'c', 'b', 'a'])
    expect(await fixture.poll(10)).toEqual([])
  })

  test('priority: the highest first, then the earliest; below zero comes last', async () => {
    await fixture.nextTopic({ order: 'priority' })
    await fixture.push(
      'plain-1',
      { identifier: 'urgent-1', priority: 10 },
      { identifier: 'last', priority: -1 },
      { identifier: 'urgent-2', priority: 10 },
      { identifier: 'first', priority: 32_767 },
      'plain-2',
    )
    expect(names(await fixture.poll(2))).toEqual(['first', 'urgent-1'])
    const [again] = await fixture.poll(1)
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [again!]))
    expect(names(await fixture.poll(10))).toEqual(['urgent-2', 'plain-1', 'plain-2', 'last'])
  })

  test.each(['fifo', 'lifo', 'priority', 'shared'] as const)('%s: each poll is one try', async (order) => {
    await fixture.nextTopic({ order })
    await fixture.push({ identifier: 'a', maxTries: 2 })
    for (const tries of [1, 2]) {
      expect(await fixture.page()).toMatchObject([{ attempt: tries - 1, tries: tries - 1 }])
      const held = await fixture.poll(1)
      expect(held).toMatchObject([{ attempt: tries, tries }])
      if (tries === 2) await fixture.complete(held)
      else await fixture.complete(held, TaskDecision.retry({ afterMs: 0 }))
      await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    }
    expect(await fixture.states()).toEqual({ succeeded: 1 })
  })

  test('priority counts for nothing in a topic without it', async () => {
    await fixture.nextTopic()
    await fixture.push('a', { identifier: 'b', priority: 5 })
    expect(names(await fixture.poll(2))).toEqual(['a', 'b'])
  })

  test('holds for what is delayed, retried and expired too', async () => {
    await fixture.nextTopic({ order: 'priority' })
    await fixture.push({ identifier: 'low', priority: 1 }, { identifier: 'high', priority: 9, delayMs: 1 })
    const [low] = await fixture.poll(1)
    await fixture.complete([low!], TaskDecision.retry({ afterMs: 0 }))
    const released = async (): Promise<number> =>
      (await fixture.commit<{ promoted: number }>((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))).promoted
    let count = 0
    await expect.poll(async () => (count += await released()), { interval: 2 }).toBe(2)
    const rival = await fixture.owner()
    expect(names(await fixture.poll(1, rival))).toEqual(['high'])
    await fixture.commit((transaction) => rival.unregister(transaction))
    await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 60_000, then: 'ready' }))
    expect(names(await fixture.poll(2))).toEqual(['high', 'low'])
  })

  test('is asked for by name, and refused by name where it is another', async () => {
    await fixture.nextTopic({ order: 'lifo' })
    await fixture.push('a', 'b')
    const poll = (options: object): Promise<HeldTask[]> =>
      fixture.commit<HeldTask[]>((transaction) => fixture.tasks.poll(transaction, fixture.topic, { size: 1, ...options }))
    expect(names(await poll({ order: 'lifo', condition: 'none' }))).toEqual(['b'])
    // The transaction commits, so that a task that was taken before the refusal would be missing afterwards.
    const refused = (options: object): Promise<unknown> =>
      fixture.commit((transaction) => thrownBy(() => fixture.tasks.poll(transaction, fixture.topic, { size: 1, ...options })))
    for (const options of [{ order: 'fifo' }, { order: 'priority' }, { condition: 'singular-by-identifier' }]) {
      const error = (await refused(options)) as TaskError
      const data = { topic: fixture.topic, expected: options, found: { order: 'lifo', condition: 'none' } }
      expect(error).toMatchObject({ code: 'TOPIC_DIFFERENT', data })
      const asked = Object.entries(options).flat().join(' ')
      expect(error.message).toContain(`has order lifo and condition none, not ${asked} as was asked for`)
    }
    expect(await refused({ order: 'random' })).toMatchObject({ code: 'ARGUMENT_INVALID' })
    expect(await refused({ condition: 'single' })).toMatchObject({ code: 'ARGUMENT_INVALID' })
    expect(names(await fixture.poll(2))).toEqual(['a'])
  })

  const modes = pollOrders.flatMap((order) =>
    pollConditions.filter((condition) => order !== 'shared' || condition === 'none').map((condition) => ({ order, condition })),
  )

  test.each(modes)('is polled by registered owners only, and as what it is: order $order, condition $condition', async (mode) => {
    await fixture.nextTopic(mode)
    await fixture.push('a')
    const stranger = fixture.subject.tasks()
    const refused = await fixture.commit<unknown>((transaction) => thrownBy(() => stranger.poll(transaction, fixture.topic)))
    expect(refused).toMatchObject({ code: 'OWNER_UNKNOWN', data: { owner: stranger.owner } })
    const { topic } = fixture
    await fixture.poll(1)
    // An owner that knows the topic is asked for no less than a stranger.
    const former = await fixture.owner()
    expect(await fixture.poll(1, former)).toEqual([])
    await fixture.commit((transaction) => former.unregister(transaction))
    await fixture.push('b')
    expect(await codeOf(() => fixture.poll(1, former))).toBe('OWNER_UNKNOWN')
    expect(await fixture.states()).toEqual({ active: 1, ready: 1 })
    await fixture.commit((transaction) => fixture.tasks.destroy(transaction, topic))
    expect(await codeOf(() => fixture.poll(1))).toBe('TOPIC_UNKNOWN')
    // A repository that knows the topic's former mode polls it by the new one.
    const other = modes[(modes.indexOf(mode) + 1) % modes.length]!
    await fixture.commit((transaction) => fixture.tasks.initialize(transaction, topic, other))
    await fixture.push('b', 'c')
    expect(names(await fixture.poll(1))).toEqual([other.order === 'lifo' ? 'c' : 'b'])
  })

  test('stays: initialising a topic again with other options is refused, with the same it is not', async () => {
    await fixture.nextTopic({ order: 'lifo' })
    const initialize = (options: object): Promise<unknown> =>
      codeOf(() => fixture.commit((transaction) => fixture.tasks.initialize(transaction, fixture.topic, options)))
    expect(await initialize({ order: 'lifo' })).toBe(false)
    expect(await initialize({})).toBe('TOPIC_DIFFERENT')
    expect(await initialize({ order: 'lifo', condition: 'singular-by-identifier' })).toBe('TOPIC_DIFFERENT')
    expect(await initialize({ order: 'lifo', keyed: true })).toBe('TOPIC_NOT_KEYED')
    expect(await initialize({ order: 'sideways' })).toBe('ARGUMENT_INVALID')
    expect(await initialize({ condition: 'single' })).toBe('ARGUMENT_INVALID')
    const asked = { order: 'priority', condition: 'singular-by-identifier' } as const
    const refused = fixture.commit((transaction) => fixture.tasks.initialize(transaction, fixture.topic, asked))
    await expect(refused).rejects.toMatchObject({ data: { expected: asked, found: { order: 'lifo', condition: 'none' } } })
    expect(await initialize({ condition: 'singular-by-identifier', keyed: false })).toBe('ARGUMENT_INVALID')
  })

  test('is changed as the error says: under another name, or once the topic was destroyed', async () => {
    await fixture.nextTopic({ record: 'states' })
    const supersede = (topic: string): Promise<unknown> =>
      fixture.commit<unknown>((transaction) => fixture.tasks.push(transaction, topic, 'a', { insertion: 'supersede' }))
    const initialize = (topic: string): Promise<unknown> =>
      fixture.commit<unknown>((transaction) => fixture.tasks.initialize(transaction, topic, { keyed: true }))
    for (const work of [supersede, initialize]) {
      const error = (await work(fixture.topic).catch((thrown: unknown) => thrown)) as TaskError
      expect(error).toMatchObject({ code: 'TOPIC_NOT_KEYED', data: { topic: fixture.topic } })
      expect(error.message).toContain('keeps the options it was initialised with')
      expect(error.message).toContain('another topic with { keyed: true }')
      expect(error.message).toContain(`destroy(transaction, "${fixture.topic}")`)
    }
    const other = `${fixture.topic}-keyed`
    expect(await initialize(other)).toBe(true)
    expect(await supersede(other)).toMatchObject([{ outcome: 'created' }])
    await fixture.commit((transaction) => fixture.tasks.destroy(transaction, fixture.topic))
    expect(await initialize(fixture.topic)).toBe(true)
    expect(await supersede(fixture.topic)).toMatchObject([{ outcome: 'created' }])
  })

  test('is learned anew when a topic is destroyed and made again with another', async () => {
    await fixture.nextTopic({ order: 'lifo' })
    await fixture.push('a', 'b')
    expect(names(await fixture.poll(2))).toEqual(['b', 'a'])
    for (const [options, expected] of [
      [{}, ['a', 'b']],
      [{ order: 'priority' as const }, ['a', 'b']],
      [{ condition: 'singular-by-identifier' as const }, ['a', 'b']],
      [{ order: 'lifo' as const }, ['b', 'a']],
    ] as const) {
      await fixture.commit((transaction) => fixture.tasks.destroy(transaction, fixture.topic))
      await fixture.commit((transaction) => fixture.tasks.initialize(transaction, fixture.topic, options))
      await fixture.push('a', 'b')
      expect(names(await fixture.poll(2))).toEqual(expected)
    }
  })

  testWhere(engine.writers > 1)('passes over what another transaction is polling, without waiting', async () => {
    for (const order of ['lifo', 'priority'] as const) {
      await fixture.nextTopic({ order })
      await fixture.push('a', 'b', 'c')
      const expected = order === 'lifo' ? ['c', 'b', 'a'] : ['a', 'b', 'c']
      const [one, two] = [await fixture.subject.session(), await fixture.subject.session()]
      await one.begin()
      await two.begin()
      expect(names((await fixture.tasks.poll(one.transaction, fixture.topic, { size: 2 })) as HeldTask[])).toEqual(
        expected.slice(0, 2),
      )
      expect(names((await fixture.tasks.poll(two.transaction, fixture.topic, { size: 2 })) as HeldTask[])).toEqual(
        expected.slice(2),
      )
      await one.rollback()
      await two.rollback()
      expect(names(await fixture.poll(3))).toEqual(expected)
    }
  })
})
