/** The verbs that people and dashboards read with: filters, counts, results, instants and the overview. */
import { TaskDecision } from '@taskstream/task-api'
import type {
  CountOptions,
  FilterState,
  PageOptions,
  TaskCount,
  TaskInfo,
  TaskResult,
  TaskState,
  TopicOverview,
} from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { beforeEach, expect, test } from 'vitest'
import { part } from './engine.ts'
import type { Part } from './engine.ts'
import { codeOf, names, openFixture, thrownBy, whileTested } from './fixture.ts'

export const looking: Part = part('looking closer', (engine) => {
  const clock = { now: Date.UTC(2026, 0, 1) }
  const fixture = whileTested(() => openFixture(engine, () => new Date(clock.now)))
  beforeEach(async () => {
    clock.now += 86_400_000
    await fixture.nextTopic({ keyed: true })
  })
  const page = async (options: PageOptions): Promise<string[]> =>
    names(await fixture.commit<TaskInfo[]>((transaction) => fixture.tasks.page(transaction, fixture.topic, options)))
  const count = async (options: CountOptions = {}): Promise<Record<string, number>> => {
    const counts = await fixture.commit<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>((transaction) =>
      fixture.tasks.count(transaction, { topic: fixture.topic, ...options }),
    )
    return Object.fromEntries([...(counts.get(fixture.topic) ?? [])].map(([state, one]) => [state, one.count]))
  }
  const overview = async (limit?: number): Promise<TopicOverview | undefined> => {
    const all = await fixture.commit<TopicOverview[]>((transaction) =>
      fixture.tasks.overview(transaction, limit ? { limit } : {}),
    )
    return all.find(({ topic }) => topic === fixture.topic)
  }

  test('a task is found by its external id', async () => {
    const [, b] = await fixture.push({ identifier: 'a', externalId: 'x' }, { identifier: 'b', externalId: "y' or 1=1" })
    const find = (externalId: string): Promise<TaskInfo | undefined> =>
      fixture.commit<TaskInfo | undefined>((transaction) => fixture.tasks.task(transaction, fixture.topic, { externalId }))
    expect(await find("y' or 1=1")).toMatchObject({ sequence: b!.sequence, externalId: "y' or 1=1" })
    expect(await find('z')).toBeUndefined()
    expect(await codeOf(() => find(''))).toBe('ARGUMENT_INVALID')
    await fixture.nextTopic()
    expect(await find('x')).toBeUndefined()
    const [other] = await fixture.push({ identifier: 'c', externalId: 'x' })
    expect(await find('x')).toMatchObject({ sequence: other!.sequence, identifier: 'c' })
  })

  test('pages are of tasks that meet a filter, both ways', async () => {
    await fixture.push(
      { identifier: 'a', reference: 'r' },
      { identifier: 'b', reference: 'r' },
      { identifier: 'a', reference: 's' },
      { identifier: 'c', reference: 'r', maxTries: 1 },
    )
    const [a] = await fixture.poll(1)
    await fixture.complete([a!])
    expect(await page({ reference: 'r' })).toEqual(['a', 'b', 'c'])
    expect(await page({ reference: 'r', size: 1, before: Number.MAX_SAFE_INTEGER })).toEqual(['c'])
    expect(await page({ identifier: 'a' })).toEqual(['a', 'a'])
    expect(await page({ identifier: 'a', reference: 's' })).toEqual(['a'])
    expect(await page({ states: ['succeeded'] })).toEqual(['a'])
    expect(await page({ states: ['ready', 'succeeded'], reference: 'r' })).toEqual(['a', 'b', 'c'])
    expect(await page({ states: [] })).toEqual([])
    expect(await page({ from: a!.sequence + 1, to: a!.sequence + 2 })).toEqual(['b', 'a'])
    expect(await page({ createdFrom: new Date(clock.now), createdBefore: new Date(clock.now + 1) })).toHaveLength(4)
    expect(await page({ createdBefore: new Date(clock.now) })).toEqual([])
    expect(await page({ identifier: "a' or '1'='1" })).toEqual([])
    await fixture.complete(await fixture.poll(3), TaskDecision.retry({ afterMs: 0 }))
    expect(await page({ reason: 'tries' })).toEqual(['c'])
    expect(await codeOf(() => page({ from: 2, to: 1 }))).toBe('ARGUMENT_INVALID')
    expect(await codeOf(() => page({ states: ['gone' as TaskState] }))).toBe('ARGUMENT_INVALID')
  })

  test('counts are of tasks that meet a filter', async () => {
    await fixture.push({ identifier: 'a', reference: 'r' }, 'a', 'b')
    await fixture.complete(await fixture.poll(1))
    expect(await count()).toEqual({ ready: 2, succeeded: 1 })
    expect(await count({ identifier: 'a' })).toEqual({ ready: 1, succeeded: 1 })
    expect(await count({ reference: 'r' })).toEqual({ succeeded: 1 })
    expect(await count({ states: ['ready'] })).toEqual({ ready: 2 })
  })

  test('what waits for its time is told apart from what is suspended: in pages, counts, results and the overview', async () => {
    const [first] = await fixture.push({ identifier: 'branch', suspended: true }, { identifier: 'later', delayMs: 1 }, 'a', 'b')
    const [a, b] = await fixture.poll(2)
    await fixture.complete([a!], TaskDecision.retry({ afterMs: 1 }))
    await fixture.complete([b!], TaskDecision.suspension())
    expect(await page({ states: ['suspended'] })).toEqual(['branch', 'b'])
    expect(await page({ states: ['delayed'] })).toEqual(['later', 'a'])
    expect(await page({ states: ['delayed', 'suspended'] })).toEqual(['branch', 'later', 'a', 'b'])
    expect(await count()).toEqual({ suspended: 2, delayed: 2 })
    expect(await count({ states: ['delayed'] })).toEqual({ delayed: 2 })
    expect(await count({ recent: true, states: ['suspended'], from: first!.sequence + 1 })).toEqual({ suspended: 1 })
    expect(await count({ recent: true })).toEqual({ suspended: 2, delayed: 2 })
    expect(await overview()).toMatchObject({ ready: 0, delayed: 2 })
    // A try that will be repeated is not a result with which a task has ended.
    const results = await fixture.commit<ReadonlyMap<string, ReadonlyMap<TaskResult, number>>>((transaction) =>
      fixture.tasks.results(transaction),
    )
    expect(Object.fromEntries(results.get(fixture.topic) ?? [])).toEqual({ suspension: 1 })
  })

  test('the overview tells topics in the order of their names, and an age of nothing of what has just come', async () => {
    await fixture.push('a')
    expect(await overview()).toMatchObject({ oldestReadyMs: 0 })
    // Of what comes from a clock that is ahead, too.
    clock.now -= 5_000
    expect(await overview()).toMatchObject({ oldestReadyMs: 0 })
    clock.now += 5_000
    const told = await fixture.commit<TopicOverview[]>((transaction) => fixture.tasks.overview(transaction))
    const topics = told.map(({ topic }) => topic)
    expect(topics.length).toBeGreaterThan(1)
    expect(topics).toEqual(topics.toSorted())
  })

  test('recent counts only the latest task of each identifier, of those that meet the filter', async () => {
    const [a1, b1] = await fixture.push({ identifier: 'a', reference: 'r' }, { identifier: 'b', reference: 'r' }, 'a', 'c')
    await fixture.complete(await fixture.poll(2), TaskDecision.failure())
    expect(await count({ recent: true })).toEqual({ ready: 2, failed: 1 })
    expect(await count({ recent: true, reference: 'r' })).toEqual({ failed: 2 })
    expect(await count({ recent: true, to: b1!.sequence })).toEqual({ failed: 2 })
    expect(await count({ recent: true, states: ['failed'] })).toEqual({ failed: 1 })
    expect(await count({ recent: true, identifier: 'a' })).toEqual({ ready: 1 })
    expect(a1).toBeDefined()
  })

  test('results are counted by the time of completion, both ends included; every topic is there', async () => {
    await fixture.push('a', 'b', 'c')
    const [a, b, c] = await fixture.poll(3)
    const start = clock.now
    await fixture.complete([a!])
    clock.now += 1_000
    await fixture.complete([b!], TaskDecision.failure())
    clock.now += 1_000
    await fixture.complete([c!], TaskDecision.filter())
    const results = async (options: object): Promise<Record<string, number>> => {
      const counts = await fixture.commit<ReadonlyMap<string, ReadonlyMap<TaskResult, number>>>((transaction) =>
        fixture.tasks.results(transaction, options),
      )
      // The topic is there even where nothing was counted.
      return Object.fromEntries(counts.get(fixture.topic)!)
    }
    expect(await results({})).toEqual({ success: 1, failure: 1, filter: 1 })
    expect(Object.keys(await results({}))).toEqual(['failure', 'filter', 'success'])
    expect(await results({ from: new Date(start), to: new Date(start + 1_000) })).toEqual({ success: 1, failure: 1 })
    expect(await results({ from: new Date(start + 1) })).toEqual({ failure: 1, filter: 1 })
    expect(await codeOf(() => results({ from: new Date(2), to: new Date(1) }))).toBe('ARGUMENT_INVALID')
    for (const instant of [new Date(Number.NaN), '2026-01-01', null])
      for (const argument of ['from', 'to'])
        expect(await thrownBy(() => results({ [argument]: instant }))).toMatchObject({
          code: 'ARGUMENT_INVALID',
          data: { argument },
        })
    await fixture.nextTopic()
    expect(await results({})).toEqual({})
  })

  test('an instant is resolved to a sequence, over all topics', async () => {
    const start = clock.now
    await fixture.nextTopic({ record: 'states' })
    const [a] = await fixture.push('a')
    clock.now += 1_000
    await fixture.nextTopic({ record: 'states' })
    const [b] = await fixture.push('b')
    const resolve = (at: number, preceding = false): Promise<number> =>
      fixture.commit<number>((transaction) => fixture.tasks.resolve(transaction, new Date(at), { preceding }))
    expect(await resolve(start)).toBe(a!.sequence)
    expect(await resolve(start + 1)).toBe(b!.sequence)
    expect(await resolve(start + 1_000)).toBe(b!.sequence)
    expect(await resolve(start + 1_001)).toBe(Number.MAX_SAFE_INTEGER)
    expect(await resolve(start + 999, true)).toBe(a!.sequence)
    expect(await resolve(start + 1_000, true)).toBe(b!.sequence)
    expect(await resolve(Date.UTC(2000, 0, 1), true)).toBe(0)
    expect(await codeOf(() => resolve(Number.NaN))).toBe('ARGUMENT_INVALID')
  })

  test.each([{}, { order: 'lifo' }, { order: 'priority' }, { keyed: true }, { condition: 'singular-by-identifier' }] as const)(
    'the overview tells what is open, how long it has waited, and no more than it is asked to count: %o',
    async (options) => {
      await fixture.nextTopic(options)
      const record = engine.outcomes && Object.keys(options).length === 0 ? 'outcomes' : 'states'
      const expected = {
        topic: fixture.topic,
        order: 'fifo',
        condition: 'none',
        record,
        keyed: 'condition' in options,
        ...options,
      }
      expect(await overview()).toEqual({ ...expected, ready: 0, active: 0, delayed: 0 })
      await fixture.push('a', 'b', 'c', 'c', 'c', { identifier: 'd', delayMs: 60_000 }, { identifier: 'e', suspended: true })
      clock.now += 5_000
      expect(await overview()).toMatchObject({ ready: 5, active: 0, delayed: 1, oldestReadyMs: 5_000 })
      const held = await fixture.poll(2)
      expect(await overview()).toMatchObject({ ready: 3, active: 2, delayed: 1, oldestReadyMs: 5_000 })
      await fixture.complete([held[0]!])
      await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [held[1]!]))
      expect(await overview()).toMatchObject({ ready: 4, active: 0, delayed: 1 })
      expect(await overview(1)).toMatchObject({ ready: 1, delayed: 1 })
      // Blocked tasks of a singular topic count as ready too.
      await fixture.poll(9)
      const left = 'condition' in options ? 2 : 0
      expect(await overview()).toMatchObject({ ready: left, active: 4 - left })
      for (const limit of [0, 1.5, 2_000_000]) {
        const asked = fixture.commit((transaction) => fixture.tasks.overview(transaction, { limit }))
        expect(await codeOf(() => asked)).toBe('ARGUMENT_INVALID')
      }
    },
  )

  test.each([
    [{}, ['a', 'b'], 4_000],
    [{ order: 'lifo' }, ['d', 'c'], 6_000],
    [{ order: 'priority' }, ['d', 'a'], 5_000],
    [{ condition: 'singular-by-identifier' }, ['a', 'b'], 4_000],
  ] as const)('the overview goes by the oldest task that is ready: %o', async (options, first, oldestReadyMs) => {
    await fixture.nextTopic(options)
    const creations = [
      'a',
      'b',
      'c',
      { identifier: 'd', priority: 1 },
      ...['e', 'f'].map((identifier) => ({ identifier, delayMs: 60_000 })),
    ]
    for (const creation of creations) {
      await fixture.push(creation)
      clock.now += 1_000
    }
    expect(await overview()).toMatchObject({ ready: 4, active: 0, delayed: 2, oldestReadyMs: 6_000 })
    const held = await fixture.poll(2)
    expect(names(held)).toEqual(first)
    expect(await overview()).toMatchObject({ ready: 2, active: 2, delayed: 2, oldestReadyMs })
    expect(await overview(1)).toMatchObject({ ready: 1, active: 1, delayed: 1, oldestReadyMs })
    held.push(...(await fixture.poll(2)))
    const idle = await overview()
    expect(idle).toMatchObject({ ready: 0, active: 4, delayed: 2 })
    expect(idle).not.toHaveProperty('oldestReadyMs')
    const oldest = held.filter(({ identifier }) => identifier === 'a')
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, oldest))
    expect(await overview()).toMatchObject({ ready: 1, active: 3, delayed: 2, oldestReadyMs: 6_000 })
  })

  test('the view for people names states and reasons, and shows what a recreated task was', async () => {
    await fixture.push({ identifier: 'a', maxTries: 1, externalId: 'x', headers: { h: 1 } }, 'b')
    await fixture.complete(await fixture.poll(1), TaskDecision.retry({ afterMs: 0 }, 'no'))
    const [a] = await fixture.page()
    await fixture.commit((transaction) => fixture.tasks.recreate(transaction, fixture.topic, 'append', [a!]))
    const view = raw(engine.family === 'postgres' ? 'taskstream.task_pretty' : 'task_pretty')
    const rows = await fixture.commit((transaction) =>
      fixture.subject.execute(
        transaction,
        sql`select identifier, state, recreated, reason, output, created from ${view} where topic = ${fixture.topic} order by sequence`,
      ),
    )
    expect(rows).toMatchObject([
      { identifier: 'a', state: 'failed', recreated: 'yes', reason: 'tries', output: 'no' },
      { identifier: 'b', state: 'ready', recreated: 'no', reason: null, output: null },
      { identifier: 'a', state: 'ready', recreated: 'no', reason: null, output: null },
    ])
    expect(new Date(rows[0]!['created'] as string)).toEqual(new Date(clock.now))
  })
})
