/** Topics are initialised, listed, paged and counted. */
import { TaskDecision } from '@taskstream/task-api'
import type { FilterState, PageOptions, TaskCount, TaskInfo, TaskResult } from '@taskstream/task-api'
import { expect, test } from 'vitest'
import { names, useFixture } from './fixture.ts'
import { part } from './engine.ts'
import type { Part } from './engine.ts'

export const catalog: Part = part('looking at topics', (engine) => {
  const fixture = useFixture(engine)

  test('initialize makes a topic known once, and topics lists it', async () => {
    const name = `${fixture.topic}-new`
    expect(await fixture.commit((transaction) => fixture.tasks.initialize(transaction, name))).toBe(true)
    expect(await fixture.commit((transaction) => fixture.tasks.initialize(transaction, name))).toBe(false)
    // They are made in another order than that of their names.
    const others = ['n', 'c', 'z', 'a'].map((letter) => `${letter}-${fixture.topic}`)
    for (const other of others) await fixture.commit((transaction) => fixture.tasks.initialize(transaction, other))
    const topics = await fixture.commit<string[]>((transaction) => fixture.tasks.topics(transaction))
    expect(topics).toEqual(expect.arrayContaining([name, ...others]))
    expect(topics).toEqual(topics.toSorted())
    expect(new Set(topics).size).toBe(topics.length)
  })

  test('initialize is undone with its transaction', async () => {
    await fixture
      .commit(async (transaction) => {
        await fixture.tasks.initialize(transaction, 'undone')
        throw new Error('no')
      })
      .catch(() => {})
    expect(await fixture.commit<string[]>((transaction) => fixture.tasks.topics(transaction))).not.toContain('undone')
  })

  test('task finds the task of that very sequence, and no neighbour', async () => {
    const [a] = await fixture.push({ identifier: 'a', input: 'x', headers: { tags: ['y'] } })
    const find = (topic: string, sequence: number): Promise<TaskInfo | undefined> =>
      fixture.commit<TaskInfo | undefined>((transaction) => fixture.tasks.task(transaction, topic, sequence))
    const info = await find(fixture.topic, a!.sequence)
    expect(info).toMatchObject({
      identifier: 'a',
      input: 'x',
      headers: { tags: ['y'] },
      state: 'ready',
      descent: 'ready',
      attempt: 0,
      tries: 0,
    })
    expect(Math.abs(info!.created.getTime() - Date.now())).toBeLessThan(3_600_000)
    expect(await find(fixture.topic, a!.sequence + 1)).toBeUndefined()
    expect(await find(fixture.topic, 0)).toBeUndefined()
    const { topic } = fixture
    await fixture.nextTopic()
    expect(await find(fixture.topic, a!.sequence)).toBeUndefined()
    expect(await find(topic, a!.sequence)).toMatchObject({ identifier: 'a' })
  })

  test('page goes both ways, from anywhere, so many at a time', async () => {
    const [a, b, c, d] = await fixture.push('a', 'b', 'c', 'd')
    const page = async (options: object): Promise<string[]> =>
      names(await fixture.commit<TaskInfo[]>((transaction) => fixture.tasks.page(transaction, fixture.topic, options)))
    expect(await page({})).toEqual(['a', 'b', 'c', 'd'])
    expect(await page({ size: 2 })).toEqual(['a', 'b'])
    expect(await page({ after: b!.sequence })).toEqual(['c', 'd'])
    expect(await page({ after: a!.sequence, size: 1 })).toEqual(['b'])
    expect(await page({ before: c!.sequence })).toEqual(['b', 'a'])
    expect(await page({ before: d!.sequence, size: 1 })).toEqual(['c'])
    expect(await page({ before: Number.MAX_SAFE_INTEGER })).toEqual(['d', 'c', 'b', 'a'])
    expect(await page({ after: Number.MAX_SAFE_INTEGER })).toEqual([])
    expect(await page({ size: 0 })).toEqual([])
  })

  test("an instant that a task tells is one that finds it: bounds are inclusive, however exact the database's clock is", async () => {
    for (const input of ['1', '2', '3']) {
      const [pushed] = await fixture.push({ identifier: 'a', input })
      await fixture.complete(await fixture.poll(1))
      const [info] = (await fixture.page()).slice(-1)
      const { created, completed } = info!
      expect(
        await fixture.commit((transaction) =>
          fixture.tasks.resolve(transaction, created, { preceding: true, topic: fixture.topic }),
        ),
      ).toBe(pushed!.sequence)
      expect(await fixture.commit((transaction) => fixture.tasks.resolve(transaction, created, { topic: fixture.topic }))).toBe(
        pushed!.sequence,
      )
      const results = await fixture.commit<ReadonlyMap<string, ReadonlyMap<TaskResult, number>>>((transaction) =>
        fixture.tasks.results(transaction, { from: completed!, to: completed! }),
      )
      expect(results.get(fixture.topic)).toEqual(new Map([['success', 1]]))
      const page = (options: PageOptions): Promise<TaskInfo[]> =>
        fixture.commit<TaskInfo[]>((transaction) => fixture.tasks.page(transaction, fixture.topic, options))
      const after = (instant: Date): Date => new Date(instant.getTime() + 1)
      expect(await page({ createdFrom: created, createdBefore: after(created) })).toEqual([info])
      expect(await page({ completedFrom: completed!, completedBefore: after(completed!) })).toEqual([info])
      // The next task must fall into another millisecond.
      await expect.poll(() => Date.now(), { interval: 1 }).toBeGreaterThan(completed!.getTime() + 1)
    }
  })

  test('count gives every known topic, exact counts by state, and the last sequence of each', async () => {
    const pushed = await fixture.push('a', 'b', { identifier: 'c', suspended: true })
    const [a] = await fixture.poll(1)
    await fixture.commit((transaction) =>
      fixture.tasks.complete(transaction, fixture.topic, new Map([[a!, TaskDecision.success()]])),
    )
    const empty = `${fixture.topic}-empty`
    await fixture.commit((transaction) => fixture.tasks.initialize(transaction, empty))
    type Counts = ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>
    const counts = await fixture.commit<Counts>((transaction) => fixture.tasks.count(transaction))
    expect(counts.get(fixture.topic)).toEqual(
      new Map([
        ['ready', { count: 1, bound: pushed[1]!.sequence }],
        ['suspended', { count: 1, bound: pushed[2]!.sequence }],
        ['succeeded', { count: 1, bound: pushed[0]!.sequence }],
      ]),
    )
    expect(counts.get(empty)).toEqual(new Map())
    expect([...counts.keys()]).toEqual([...counts.keys()].toSorted())
    expect([...counts.get(fixture.topic)!.keys()]).toEqual(['ready', 'suspended', 'succeeded'])
    expect([
      ...(await fixture.commit<Counts>((transaction) => fixture.tasks.count(transaction, { topic: fixture.topic }))).keys(),
    ]).toEqual([fixture.topic])
  })
})
