/** A poll of the order `shared` reads the tasks of many identifiers in one statement. */
import type { HeldTask, TaskCreation } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { codeOf, countingOwner, names, openFixture, whileTested } from './fixture.ts'
import { part, testWhere } from './engine.ts'
import type { Part } from './engine.ts'

export const sharedMany: Part = part('a topic that many identifiers share', (engine) => {
  const fixture = whileTested(
    () => openFixture(engine),
    (opened) => opened.nextTopic({ order: 'shared' }),
  )
  const identifiers = Array.from('abcdefghijkl')
  const inputs = (tasks: readonly HeldTask[]): unknown[] => tasks.map(({ input }) => input)
  /** So many tasks of each identifier, one identifier after the other. */
  const each = (count: number, name = '', more: Partial<TaskCreation> = {}): TaskCreation[] =>
    identifiers.flatMap((identifier) =>
      Array.from({ length: count }, (_, index) => ({ identifier, input: `${identifier}${name}${index + 1}`, ...more })),
    )
  /** The same tasks in turns. */
  const inTurn = (count: number, name = ''): string[] =>
    Array.from({ length: count }, (_, index) => identifiers.map((identifier) => `${identifier}${name}${index + 1}`)).flat()

  test('gives each its turn as often as it has tasks, and knows no other topic', async () => {
    await fixture.push(...each(9, '-elsewhere-'))
    await fixture.nextTopic({ order: 'shared' })
    await fixture.push(...each(9))
    expect(inputs(await fixture.poll(120))).toEqual(inTurn(9))
    expect(await fixture.poll()).toEqual([])
  })

  test('gives each the first of its tasks, where it has more than a poll takes', async () => {
    await fixture.push(...each(9))
    expect(inputs(await fixture.poll(48))).toEqual(inTurn(4))
    expect(inputs(await fixture.poll(60))).toEqual(inTurn(9).slice(48))
  })

  test('takes all that there is, of each in its order, however much more some have', async () => {
    await fixture.push(...each(7), ...each(5, '-low-', { priority: -1 }), ...each(1), { identifier: 'zz', input: 'alone' })
    await fixture.push(...Array.from({ length: 300 }, (_, index) => ({ identifier: 'a', input: `more-${index}` })))
    const polled = await fixture.poll(1_000)
    expect(polled).toHaveLength(12 * 13 + 301)
    const own = polled.filter(({ identifier }) => identifier === 'b')
    const [low, high] = [own.filter(({ priority }) => priority < 0), own.filter(({ priority }) => priority === 0)]
    expect(inputs(low)).toEqual([1, 2, 3, 4, 5].map((number) => `b-low-${number}`))
    expect(inputs(high)).toEqual([...[1, 2, 3, 4, 5, 6, 7].map((number) => `b${number}`), 'b1'])
    const more = polled.filter(({ input }) => input?.startsWith('more-'))
    expect(inputs(more)).toEqual(Array.from({ length: 300 }, (_, index) => `more-${index}`))
  })

  test('gives each its turn also where a statement cannot read as far as a poll takes', async () => {
    await fixture.push(...each(150))
    expect(inputs(await fixture.poll(12 * 150))).toEqual(inTurn(150))
  })

  test('takes as many as it is asked for, and no more, however unevenly they are spread', async () => {
    await fixture.push(
      ...Array.from({ length: 20 }, (_, index) => ({ identifier: 'a', input: `a${index + 1}` })),
      { identifier: 'b', input: 'b1' },
      { identifier: 'c', input: 'c1' },
    )
    expect(inputs(await fixture.poll(7))).toEqual(['a1', 'b1', 'c1', 'a2', 'a3', 'a4', 'a5'])
    expect(inputs(await fixture.poll(14))).toEqual(Array.from({ length: 14 }, (_, index) => `a${index + 6}`))
    expect(inputs(await fixture.poll(14))).toEqual(['a20'])
  })

  test('gives each its turn from poll to poll, also where hundreds share', async () => {
    const hundreds = Array.from({ length: 200 }, (_, index) => `n-${String(index).padStart(3, '0')}`)
    await fixture.push(...hundreds)
    const polled: string[] = []
    for (const size of [1, 2, 70, 2, 60, 3, 99]) polled.push(...names(await fixture.poll(size)))
    expect(polled).toEqual(hundreds)
  })

  test('gives a turn to what comes after thousands that have nothing to do, beside one that has much', async () => {
    await fixture.push(...Array.from({ length: 3_000 }, (_, index) => `m-${String(index).padStart(4, '0')}`))
    await fixture.complete(await fixture.poll(3_000))
    await fixture.push(...Array.from({ length: 20 }, () => 'a'), 'zz')
    const other = await fixture.owner()
    const polled: string[] = []
    for (let poll = 0; poll < 20 && !polled.includes('zz'); poll++) polled.push(...names(await fixture.poll(1, other)))
    expect(polled[0]).toBe('a')
    expect(polled).toContain('zz')
  })

  // Counting statements needs an adapter of the test's own. The family of MySQL asks for one identifier after the other.
  testWhere(engine.adapts !== false && engine.family !== 'mysql')('asks no more than it needs for a few', async () => {
    const counted = await countingOwner(fixture)
    await fixture.push('a', 'b', 'c', 'd')
    // The first poll learns the order of the topic.
    await fixture.poll(1, counted.tasks)
    for (const size of [2, 100, 100]) {
      const before = counted.statements()
      await fixture.poll(size, counted.tasks)
      expect(counted.statements() - before).toBeLessThanOrEqual(8)
    }
  })

  test('tells an owner that is not registered, also where there is nothing to do', async () => {
    const unknown = fixture.subject.tasks()
    expect(await codeOf(() => fixture.poll(1, unknown))).toBe('OWNER_UNKNOWN')
    await fixture.push('a')
    expect(await codeOf(() => fixture.poll(1, unknown))).toBe('OWNER_UNKNOWN')
  })

  // Acting between two statements needs an adapter of the test's own.
  testWhere(engine.writers > 1 && engine.adapts !== false)(
    'gives nobody what another has taken between two statements of his poll',
    async () => {
      await fixture.push(...each(3))
      const other = await fixture.subject.session()
      const rival = await fixture.owner()
      const taken: HeldTask[] = []
      let isPolling = false
      const tasks = fixture.subject.tasks({
        adapt: (adapter) =>
          ({
            ...adapter,
            execute: async (...given: Parameters<typeof adapter.execute>) => {
              if (isPolling) {
                await other.begin()
                taken.push(...((await rival.poll(other.transaction, fixture.topic, { size: 2 })) as HeldTask[]))
                await other.commit()
              }
              return adapter.execute(...given)
            },
          }) as typeof adapter,
      })
      await fixture.commit((transaction) => tasks.register(transaction))
      isPolling = true
      const own = await fixture.poll(30, tasks)
      isPolling = false
      expect(taken.length).toBeGreaterThan(2)
      const sequences = [...own, ...taken].map(({ sequence }) => sequence)
      expect(new Set(sequences).size).toBe(sequences.length)
      await other.close()
    },
  )
})
