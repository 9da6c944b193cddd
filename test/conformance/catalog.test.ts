import { TaskDecision } from '@taskstream/task-api'
import type { FilterState, HeldTask, PageOptions, Release, TaskCount, TaskInfo, TaskResult } from '@taskstream/task-api'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { names, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

describe.skipIf(!canRun)('looking at topics', () => {
  let it: Fixture
  beforeAll(async () => void (it = await openFixture()))
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(() => it.nextTopic())

  test('initialize makes a topic known once, and topics lists it', async () => {
    const name = `${it.topic}-new`
    expect(await it.commit((transaction) => it.tasks.initialize(transaction, name))).toBe(true)
    expect(await it.commit((transaction) => it.tasks.initialize(transaction, name))).toBe(false)
    const topics = await it.commit<string[]>((transaction) => it.tasks.topics(transaction))
    expect(topics).toContain(name)
    expect(topics).toEqual(topics.toSorted())
  })

  test('initialize is undone with its transaction', async () => {
    await it
      .commit(async (transaction) => {
        await it.tasks.initialize(transaction, 'undone')
        throw new Error('no')
      })
      .catch(() => {})
    expect(await it.commit<string[]>((transaction) => it.tasks.topics(transaction))).not.toContain('undone')
  })

  test('task finds the task of that very sequence, and no neighbour', async () => {
    const [a] = await it.push({ identifier: 'a', input: 'x', headers: { tags: ['y'] } })
    const find = (topic: string, sequence: number): Promise<TaskInfo | undefined> =>
      it.commit<TaskInfo | undefined>((transaction) => it.tasks.task(transaction, topic, sequence))
    const info = await find(it.topic, a!.sequence)
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
    expect(await find(it.topic, a!.sequence + 1)).toBeUndefined()
    expect(await find(it.topic, 0)).toBeUndefined()
    const { topic } = it
    await it.nextTopic()
    expect(await find(it.topic, a!.sequence)).toBeUndefined()
    expect(await find(topic, a!.sequence)).toMatchObject({ identifier: 'a' })
  })

  test('page goes both ways, from anywhere, so many at a time', async () => {
    const [a, b, c, d] = await it.push('a', 'b', 'c', 'd')
    const page = async (options: object): Promise<string[]> =>
      names(await it.commit<TaskInfo[]>((transaction) => it.tasks.page(transaction, it.topic, options)))
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
      const [pushed] = await it.push({ identifier: 'a', input })
      await it.complete(await it.poll(1))
      const [info] = (await it.page()).slice(-1)
      const { created, completed } = info!
      expect(await it.commit((transaction) => it.tasks.resolve(transaction, created, { preceding: true }))).toBe(pushed!.sequence)
      expect(await it.commit((transaction) => it.tasks.resolve(transaction, created))).toBe(pushed!.sequence)
      const results = await it.commit<ReadonlyMap<string, ReadonlyMap<TaskResult, number>>>((transaction) =>
        it.tasks.results(transaction, { from: completed!, to: completed! }),
      )
      expect(results.get(it.topic)).toEqual(new Map([['success', 1]]))
      const page = (options: PageOptions): Promise<TaskInfo[]> =>
        it.commit<TaskInfo[]>((transaction) => it.tasks.page(transaction, it.topic, options))
      const after = (instant: Date): Date => new Date(instant.getTime() + 1)
      expect(await page({ createdFrom: created, createdBefore: after(created) })).toEqual([info])
      expect(await page({ completedFrom: completed!, completedBefore: after(completed!) })).toEqual([info])
      // So that the next one is of another millisecond.
      await expect.poll(() => Date.now(), { interval: 1 }).toBeGreaterThan(completed!.getTime() + 1)
    }
  })

  test('count gives every known topic, exact counts by state, and the last sequence of each', async () => {
    const pushed = await it.push('a', 'b', { identifier: 'c', suspended: true })
    const [a] = await it.poll(1)
    await it.commit((transaction) => it.tasks.complete(transaction, it.topic, new Map([[a!, TaskDecision.success()]])))
    const empty = `${it.topic}-empty`
    await it.commit((transaction) => it.tasks.initialize(transaction, empty))
    type Counts = ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>
    const counts = await it.commit<Counts>((transaction) => it.tasks.count(transaction))
    expect(counts.get(it.topic)).toEqual(
      new Map([
        ['ready', { count: 1, bound: pushed[1]!.sequence }],
        ['suspended', { count: 1, bound: pushed[2]!.sequence }],
        ['succeeded', { count: 1, bound: pushed[0]!.sequence }],
      ]),
    )
    expect(counts.get(empty)).toEqual(new Map())
    expect([...(await it.commit<Counts>((transaction) => it.tasks.count(transaction, { topic: it.topic }))).keys()]).toEqual([
      it.topic,
    ])
  })
})

describe.skipIf(!canRun)('tasks that wait', () => {
  let it: Fixture
  let now = Date.UTC(2026, 0, 1)
  beforeAll(async () => void (it = await openFixture(() => new Date(now))))
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(() => it.nextTopic())
  const release = (limit?: number): Promise<Release> =>
    it.commit<Release>((transaction) => it.tasks.release(transaction, it.topic, limit === undefined ? {} : { limit }))

  test('are released when they are due, and it is known when the next one is', async () => {
    expect(await release()).toEqual({ released: 0 })
    await it.push(
      { identifier: 'later', delayMs: 2_000 },
      { identifier: 'soon', delayMs: 1_000 },
      { identifier: 'never', suspended: true },
    )
    expect(await release()).toEqual({ released: 0, nextDueMs: 1_000 })
    now += 999
    expect(await release()).toEqual({ released: 0, nextDueMs: 1 })
    now += 1
    expect(await release()).toEqual({ released: 1, nextDueMs: 1_000 })
    expect(names(await it.poll())).toEqual(['soon'])
    now += 5_000
    expect(await release()).toEqual({ released: 1 })
    expect(names(await it.poll())).toEqual(['later'])
    expect(await it.states()).toEqual({ active: 2, suspended: 1 })
  })

  test('are released so many at a time, the longest overdue first, and polled in the order they were pushed', async () => {
    await it.push(
      { identifier: 'a', due: new Date(now + 30) },
      { identifier: 'b', due: new Date(now + 20) },
      { identifier: 'c', due: new Date(now + 10) },
    )
    now += 100
    expect(await release(2)).toEqual({ released: 2, nextDueMs: 0 })
    expect(names(await it.poll())).toEqual(['b', 'c'])
    expect(await release(2)).toEqual({ released: 1 })
    expect(names(await it.poll())).toEqual(['a'])
  })

  test('keep to their own topic', async () => {
    await it.push({ identifier: 'a', delayMs: 1 })
    now += 10
    await it.nextTopic()
    expect(await release()).toEqual({ released: 0 })
  })

  test('for a retry are due so long after the completion, by the clock of the database', async () => {
    await it.push('a')
    const [a] = await it.poll()
    await it.commit((transaction) =>
      it.tasks.complete(transaction, it.topic, new Map([[a!, TaskDecision.retry({ afterMs: 500 })]])),
    )
    const [info] = await it.page()
    expect(info).toMatchObject({ state: 'suspended', due: new Date(now + 500) })
    now += 500
    expect(await release()).toEqual({ released: 1 })
    const [again] = await it.page()
    expect(again).toMatchObject({ state: 'ready', attempt: 1 })
    expect(again).not.toHaveProperty('due')
    expect(await it.poll()).toMatchObject([{ attempt: 2, tries: 2 }])
  })

  test('handed back are ready at once, without an owner, with their try refunded and their attempt counted', async () => {
    await it.push('a', 'b')
    const [a, b] = (await it.poll()) as [HeldTask, HeldTask]
    const handBack = (...tasks: HeldTask[]): Promise<unknown> =>
      it.commit((transaction) => it.tasks.handBack(transaction, it.topic, tasks))
    expect(await handBack(a)).toEqual({ completed: [a], lost: [] })
    const [info] = await it.page()
    expect(info).toMatchObject({ state: 'ready', attempt: 1, tries: 0 })
    expect(info).not.toHaveProperty('owner')
    expect(await handBack(a, b)).toEqual({ completed: [b], lost: [a] })
    expect(await handBack()).toEqual({ completed: [], lost: [] })
  })
})
