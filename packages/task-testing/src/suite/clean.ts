/** Purging and destroying remove the tasks that they name, and no others. */
import { TaskDecision, taskStates } from '@taskstream/task-api'
import type { HeldTask, PurgeOptions, TaskOwner, TaskState } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { expect, test } from 'vitest'
import { codeOf, names, useFixture } from './fixture.ts'
import { part, testWhere } from './engine.ts'
import type { Part } from './engine.ts'

export const clean: Part = part('cleaning up', (engine) => {
  const fixture = useFixture(engine, { topic: { keyed: true } })
  const purge = (options: PurgeOptions = {}): Promise<number> =>
    fixture.commit<number>((transaction) => fixture.tasks.purge(transaction, fixture.topic, options))
  /** Makes one task in each state except recreated and redundant, with the state as its identifier. */
  const oneOfEach = async (): Promise<void> => {
    await fixture.push('expired')
    const rival = await fixture.owner()
    await fixture.poll(1, rival)
    await fixture.commit((transaction) => rival.unregister(transaction))
    await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 60_000 }))
    await fixture.push('failed', 'suspended', 'filtered', 'succeeded', 'active')
    const [failed, suspended, filtered, succeeded] = await fixture.poll(5)
    await fixture.complete([failed!], TaskDecision.failure())
    await fixture.complete([suspended!], TaskDecision.suspension())
    await fixture.complete([filtered!], TaskDecision.filter())
    await fixture.complete([succeeded!])
    await fixture.push('ready')
  }

  test('what a task has returned goes with it, by a purge and by a push that deletes, and no other does', async () => {
    const keeping = fixture.tasks.verb(function* ({ dialect }, topic: string) {
      const rows = yield sql`select t.sequence from ${dialect.tables.result} t where t.topic = ${topic} order by t.sequence`
      return rows.map(({ sequence }) => Number(sequence))
    })
    const kept = (): Promise<number[]> => fixture.commit<number[]>((transaction) => keeping(transaction, fixture.topic))
    await fixture.push('a', 'b', 'c', 'd', 'e')
    const [a, b, c, d, e] = await fixture.poll()
    await fixture.complete([a!, d!, e!], TaskDecision.success().withValue('1'))
    await fixture.complete([b!, c!])
    expect(await kept()).toEqual([a!.sequence, d!.sequence, e!.sequence])
    // Of several that go at once, the first may be the only one that has returned anything, or the last.
    expect(await purge({ to: b!.sequence })).toBe(2)
    expect(await kept()).toEqual([d!.sequence, e!.sequence])
    expect(await purge({ to: d!.sequence })).toBe(2)
    expect(await kept()).toEqual([e!.sequence])
    await fixture.commit((transaction) => fixture.tasks.push(transaction, fixture.topic, 'e', { insertion: 'delete' }))
    expect(await kept()).toEqual([])
  })

  test('purge deletes what has ended, not what is ready, active or expired', async () => {
    await oneOfEach()
    expect(await purge()).toBe(4)
    expect(names(await fixture.page())).toEqual(['expired', 'active', 'ready'])
    expect(await purge()).toBe(0)
  })

  test.each(['expired', 'ready', 'failed', 'suspended', 'filtered', 'succeeded', 'active'] as const)(
    'purge by state deletes exactly that: %s',
    async (state) => {
      await oneOfEach()
      expect(await purge({ states: [state] })).toBe(1)
      expect(names(await fixture.page())).not.toContain(state)
      expect(await fixture.page()).toHaveLength(6)
    },
  )

  test('what waits for its time is purged by its own name only: delayed', async () => {
    await fixture.push(
      { identifier: 'reminder', due: new Date(Date.now() + 7 * 86_400_000) },
      { identifier: 'later', delayMs: 60_000 },
      { identifier: 'branch', suspended: true },
      'retried',
      'aside',
      'ready',
    )
    const [retried, aside] = await fixture.poll(2)
    await fixture.complete([retried!], TaskDecision.retry({ afterMs: 60_000 }))
    await fixture.complete([aside!], TaskDecision.suspension())
    const others = taskStates.filter((state) => state !== 'suspended' && state !== 'ready')
    expect(await purge({ states: others, olderThanMs: 0 })).toBe(0)
    expect(await purge({ identifier: 'retried' })).toBe(0)
    expect(await purge({ states: ['suspended'], identifier: 'later' })).toBe(0)
    expect(await purge({ states: ['suspended'], limit: 1 })).toBe(1)
    expect(await purge()).toBe(1)
    expect(await purge({ states: taskStates })).toBe(1)
    expect(names(await fixture.page())).toEqual(['reminder', 'later', 'retried'])
    expect(await purge({ states: ['delayed'], identifier: 'retried' })).toBe(1)
    expect(await purge({ states: ['delayed', 'suspended'] })).toBe(2)
    expect(await fixture.page()).toEqual([])
  })

  test('a delayed task that is purged is in the way of its identifier no more', async () => {
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    await fixture.push({ identifier: 'a', delayMs: 60_000 }, 'a')
    expect(await fixture.poll(9)).toEqual([])
    expect(await purge()).toBe(0)
    expect(await fixture.poll(9)).toEqual([])
    expect(await purge({ states: ['delayed'] })).toBe(1)
    expect(names(await fixture.poll(9))).toEqual(['a'])
  })

  test('purge takes a range, times and a portion, the first by sequence', async () => {
    await fixture.push('a', 'b', 'c', 'd')
    const [a, b, c] = await fixture.poll(4)
    await fixture.complete([a!, b!, c!])
    expect(await purge({ to: 0 })).toBe(0)
    expect(await purge({ from: b!.sequence, to: b!.sequence })).toBe(1)
    expect(await purge({ completedBefore: new Date(0) })).toBe(0)
    expect(await purge({ createdFrom: new Date(Date.now() + 86_400_000) })).toBe(0)
    expect(await purge({ limit: 1 })).toBe(1)
    expect(names(await fixture.page())).toEqual(['c', 'd'])
    expect(await purge({ states: [] })).toBe(0)
    expect(await purge({ createdFrom: new Date('9999-12-31T23:59:59.999Z') })).toBe(0)
    expect(await purge({ createdBefore: new Date('0001-01-01T00:00:00Z') })).toBe(0)
    expect(await purge({ completedFrom: new Date(0) })).toBe(1)
    for (const options of [
      { from: 2, to: 1 },
      { limit: 0 },
      { states: ['done' as TaskState] },
      { createdFrom: new Date('x') },
      { createdFrom: new Date(-8.64e15) },
      { completedFrom: new Date(2), completedBefore: new Date(1) },
      { reason: 'boredom' as 'tries' },
    ])
      expect(await codeOf(() => purge(options))).toBe('ARGUMENT_INVALID')
  })

  test('purgeAll, or a purge of all, leaves no row of the topic in any table of tasks, and those of others as they were', async () => {
    const { tasks, commit, subject } = fixture
    const tables = ['task', 'task_turn', 'task_result', 'task_attempt', 'task_dependency']
    const rowsOf = async (topic: string): Promise<number[]> => {
      const counts: number[] = []
      for (const name of tables) {
        const table = raw(engine.family === 'postgres' ? `taskstream.${name}` : name)
        const [row] = await commit((transaction) =>
          subject.execute(transaction, sql`select count(*) as number_of from ${table} where topic = ${topic}`),
        )
        counts.push(Number(Object.values(row!)[0]))
      }
      return counts
    }
    const filled = async (): Promise<string> => {
      await fixture.nextTopic({ condition: 'singular-by-identifier' })
      const { topic } = fixture
      await fixture.push('a', 'a', 'b', 'c')
      const [a, b, c] = await fixture.poll(3)
      await fixture.complete([a!], TaskDecision.success().withValue('1'))
      await fixture.complete([b!], TaskDecision.failure())
      await commit((transaction) => tasks.handBack(transaction, topic, [c!]))
      const [aside] = await fixture.push({ identifier: 'd', suspended: true })
      await commit((transaction) => tasks.depend(transaction, aside!, [{ need: 'x', on: { topic, sequence: a!.sequence } }]))
      return topic
    }
    const [other, topic] = [await filled(), await filled()]
    const before = await rowsOf(other)
    expect(Math.min(...before)).toBeGreaterThan(0)
    expect(await rowsOf(topic)).toEqual(before)
    expect(await commit<number>((transaction) => tasks.purgeAll(transaction, topic))).toBe(5)
    expect(await rowsOf(topic)).toEqual([0, 0, 0, 0, 0])
    // What needs nothing any more leaves nothing of its needs either.
    const purged = await filled()
    await commit((transaction) => tasks.settle(transaction, purged))
    for (let held: HeldTask[]; (held = await fixture.poll(9)).length > 0;) await fixture.complete(held)
    expect(await commit<number>((transaction) => tasks.purge(transaction, purged))).toBe(5)
    expect(await rowsOf(purged)).toEqual([0, expect.any(Number), 0, 0, 0])
    expect(await rowsOf(other)).toEqual(before)
  })

  test('purgeAll leaves the topic and nothing in it, not even what waits for its time', async () => {
    await oneOfEach()
    await fixture.push({ identifier: 'delayed', delayMs: 60_000 })
    expect(await fixture.commit((transaction) => fixture.tasks.purgeAll(transaction, fixture.topic))).toBe(8)
    expect(await fixture.page()).toEqual([])
    await fixture.push('a')
    expect(names(await fixture.poll(9))).toEqual(['a'])
  })

  test('destroy leaves nothing, and the topic can be made again', async () => {
    for (const options of [{}, { condition: 'singular-by-identifier' as const }, { order: 'lifo' as const }]) {
      await fixture.nextTopic(options)
      await fixture.push('a', 'a', 'b')
      const held = await fixture.poll(9)
      expect(await fixture.commit((transaction) => fixture.tasks.destroy(transaction, fixture.topic))).toBe(true)
      expect(await fixture.commit((transaction) => fixture.tasks.destroy(transaction, fixture.topic))).toBe(false)
      expect(await codeOf(() => fixture.push('c'))).toBe('TOPIC_UNKNOWN')
      expect(await codeOf(() => fixture.poll(1))).toBe('TOPIC_UNKNOWN')
      expect((await fixture.complete(held)).lost).toHaveLength(held.length)
      expect(await fixture.commit((transaction) => fixture.tasks.initialize(transaction, fixture.topic, options))).toBe(true)
      expect(await fixture.page()).toEqual([])
      await fixture.push('c', 'd')
      expect(names(await fixture.poll(9)).toSorted()).toEqual(['c', 'd'])
    }
  })

  test('purgeOwners forgets silent owners, and what they held is still recovered', async () => {
    const rival = await fixture.owner()
    await fixture.push('a')
    await fixture.poll(1, rival)
    const purgeOwners = (olderThanMs: number): Promise<number> =>
      fixture.commit<number>((transaction) => fixture.tasks.purgeOwners(transaction, olderThanMs))
    expect(await purgeOwners(60_000)).toBe(0)
    const known = async (): Promise<boolean> => {
      await purgeOwners(1)
      const owners = await fixture.commit<TaskOwner[]>((transaction) => fixture.tasks.owners(transaction, 1_000_000_000))
      return owners.some(({ owner }) => owner === rival.owner)
    }
    await expect.poll(known, { interval: 2 }).toBe(false)
    expect(await codeOf(() => fixture.commit((transaction) => rival.heartbeat(transaction)))).toBe('OWNER_UNKNOWN')
    await fixture.commit((transaction) => fixture.tasks.heartbeat(transaction))
    await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 60_000, then: 'ready' }))
    expect(names(await fixture.poll(1))).toEqual(['a'])
    expect(await codeOf(() => purgeOwners(-1))).toBe('ARGUMENT_INVALID')
  })

  test('limitStatements limits, or does nothing, and refuses what is no time', async () => {
    expect(await fixture.commit((transaction) => fixture.tasks.limitStatements(transaction, 1_000))).toBeUndefined()
    await expect(fixture.commit(async (transaction) => fixture.tasks.limitStatements(transaction, 0))).rejects.toMatchObject({
      code: 'ARGUMENT_INVALID',
    })
  })

  test('refresh renews statistics', async () => {
    expect(await fixture.subject.owner.transactions((transaction) => fixture.tasks.refresh(transaction))).toBeUndefined()
  })

  // Noting statements needs an adapter of the test's own between repository and driver.
  testWhere(engine.adapts !== false)('refresh analyses the tables where that is allowed inside a transaction', async () => {
    const texts: string[] = []
    const tasks = fixture.subject.tasks({
      adapt: (adapter) =>
        ({
          ...adapter,
          execute: (...given: Parameters<typeof adapter.execute>) => {
            texts.push(given[1].texts.join('?'))
            return adapter.execute(...given)
          },
        }) as typeof adapter,
    })
    await fixture.subject.owner.transactions((transaction) => tasks.refresh(transaction))
    // MySQL, MariaDB and Oracle would commit the caller's transaction, and renew their statistics by themselves.
    if (engine.family === 'mysql' || engine.family === 'oracle') expect(texts).toEqual([])
    else expect(texts).toContainEqual(expect.stringMatching(/analyze.*/i))
  })

  testWhere(engine.writers > 1)('purge passes over what another transaction is working on', async () => {
    await fixture.push('a', 'b')
    await fixture.complete(await fixture.poll(2))
    const session = await fixture.subject.session()
    await session.begin()
    await fixture.tasks.recreate(session.transaction, fixture.topic, 'reset', { state: 'succeeded' })
    expect(await purge()).toBe(1)
    await session.commit()
    expect(names(await fixture.page())).toEqual(['a'])
  })

  testWhere(engine.family === 'postgres')(
    'what a push in flight leaves behind when its topic is destroyed does not come back with it',
    async () => {
      const session = await fixture.subject.session()
      await session.begin()
      await fixture.tasks.push(session.transaction, fixture.topic, 'left')
      await fixture.commit((transaction) => fixture.tasks.destroy(transaction, fixture.topic))
      await session.commit()
      await fixture.commit((transaction) => fixture.tasks.initialize(transaction, fixture.topic))
      await fixture.push('new')
      expect(names((await fixture.poll(9)) as HeldTask[])).toEqual(['new'])
    },
  )
})
