import { TaskDecision, taskStates } from '@taskstream/task-api'
import type { HeldTask, PurgeOptions, TaskOwner, TaskState } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, isPostgres } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { codeOf, names, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

describe.skipIf(!canRun)('cleaning up', () => {
  let it: Fixture
  beforeAll(async () => void (it = await openFixture()))
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(() => it.nextTopic({ keyed: true }))
  const purge = (options: PurgeOptions = {}): Promise<number> =>
    it.commit<number>((transaction) => it.tasks.purge(transaction, it.topic, options))
  /** One task in each state but recreated and redundant; the names are the states. */
  const oneOfEach = async (): Promise<void> => {
    await it.push('expired')
    const rival = await it.owner()
    await it.poll(1, rival)
    await it.commit((transaction) => rival.unregister(transaction))
    await it.commit((transaction) => it.tasks.expire(transaction, { olderThanMs: 60_000 }))
    await it.push('failed', 'suspended', 'filtered', 'succeeded', 'active')
    const [failed, suspended, filtered, succeeded] = await it.poll(5)
    await it.complete([failed!], TaskDecision.failure())
    await it.complete([suspended!], TaskDecision.suspension())
    await it.complete([filtered!], TaskDecision.filter())
    await it.complete([succeeded!])
    await it.push('ready')
  }

  test('purge deletes what has ended, not what is ready, active or expired', async () => {
    await oneOfEach()
    expect(await purge()).toBe(4)
    expect(names(await it.page())).toEqual(['expired', 'active', 'ready'])
    expect(await purge()).toBe(0)
  })

  test.each(['expired', 'ready', 'failed', 'suspended', 'filtered', 'succeeded', 'active'] as const)(
    'purge by state deletes exactly that: %s',
    async (state) => {
      await oneOfEach()
      expect(await purge({ states: [state] })).toBe(1)
      expect(names(await it.page())).not.toContain(state)
      expect(await it.page()).toHaveLength(6)
    },
  )

  test('what waits for its time is purged by its own name only: delayed', async () => {
    await it.push(
      { identifier: 'reminder', due: new Date(Date.now() + 7 * 86_400_000) },
      { identifier: 'later', delayMs: 60_000 },
      { identifier: 'branch', suspended: true },
      'retried',
      'aside',
      'ready',
    )
    const [retried, aside] = await it.poll(2)
    await it.complete([retried!], TaskDecision.retry({ afterMs: 60_000 }))
    await it.complete([aside!], TaskDecision.suspension())
    const others = taskStates.filter((state) => state !== 'suspended' && state !== 'ready')
    expect(await purge({ states: others, olderThanMs: 0 })).toBe(0)
    expect(await purge({ identifier: 'retried' })).toBe(0)
    expect(await purge({ states: ['suspended'], identifier: 'later' })).toBe(0)
    expect(await purge({ states: ['suspended'], limit: 1 })).toBe(1)
    expect(await purge()).toBe(1)
    expect(await purge({ states: taskStates })).toBe(1)
    expect(names(await it.page())).toEqual(['reminder', 'later', 'retried'])
    expect(await purge({ states: ['delayed'], identifier: 'retried' })).toBe(1)
    expect(await purge({ states: ['delayed', 'suspended'] })).toBe(2)
    expect(await it.page()).toEqual([])
  })

  test('a delayed task that is purged is in the way of its identifier no more', async () => {
    await it.nextTopic({ condition: 'singular-by-identifier' })
    await it.push({ identifier: 'a', delayMs: 60_000 }, 'a')
    expect(await it.poll(9)).toEqual([])
    expect(await purge()).toBe(0)
    expect(await it.poll(9)).toEqual([])
    expect(await purge({ states: ['delayed'] })).toBe(1)
    expect(names(await it.poll(9))).toEqual(['a'])
  })

  test('purge takes a range, times and a portion, the first by sequence', async () => {
    await it.push('a', 'b', 'c', 'd')
    const [a, b, c] = await it.poll(4)
    await it.complete([a!, b!, c!])
    expect(await purge({ to: 0 })).toBe(0)
    expect(await purge({ from: b!.sequence, to: b!.sequence })).toBe(1)
    expect(await purge({ completedBefore: new Date(0) })).toBe(0)
    expect(await purge({ createdFrom: new Date(Date.now() + 86_400_000) })).toBe(0)
    expect(await purge({ limit: 1 })).toBe(1)
    expect(names(await it.page())).toEqual(['c', 'd'])
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

  test('purgeAll leaves the topic and nothing in it, not even what waits for its time', async () => {
    await oneOfEach()
    await it.push({ identifier: 'delayed', delayMs: 60_000 })
    expect(await it.commit((transaction) => it.tasks.purgeAll(transaction, it.topic))).toBe(8)
    expect(await it.page()).toEqual([])
    await it.push('a')
    expect(names(await it.poll(9))).toEqual(['a'])
  })

  test('destroy leaves nothing, and the topic can be made again', async () => {
    for (const options of [{}, { condition: 'singular-by-identifier' as const }, { order: 'lifo' as const }]) {
      await it.nextTopic(options)
      await it.push('a', 'a', 'b')
      const held = await it.poll(9)
      expect(await it.commit((transaction) => it.tasks.destroy(transaction, it.topic))).toBe(true)
      expect(await it.commit((transaction) => it.tasks.destroy(transaction, it.topic))).toBe(false)
      expect(await codeOf(() => it.push('c'))).toBe('TOPIC_UNKNOWN')
      expect(await codeOf(() => it.poll(1))).toBe('TOPIC_UNKNOWN')
      expect((await it.complete(held)).lost).toHaveLength(held.length)
      expect(await it.commit((transaction) => it.tasks.initialize(transaction, it.topic, options))).toBe(true)
      expect(await it.page()).toEqual([])
      await it.push('c', 'd')
      expect(names(await it.poll(9)).toSorted()).toEqual(['c', 'd'])
    }
  })

  test('purgeOwners forgets silent owners, and what they held is still recovered', async () => {
    const rival = await it.owner()
    await it.push('a')
    await it.poll(1, rival)
    const purgeOwners = (olderThanMs: number): Promise<number> =>
      it.commit<number>((transaction) => it.tasks.purgeOwners(transaction, olderThanMs))
    expect(await purgeOwners(60_000)).toBe(0)
    const known = async (): Promise<boolean> => {
      await purgeOwners(1)
      const owners = await it.commit<TaskOwner[]>((transaction) => it.tasks.owners(transaction, 1_000_000_000))
      return owners.some(({ owner }) => owner === rival.owner)
    }
    await expect.poll(known, { interval: 2 }).toBe(false)
    expect(await codeOf(() => it.commit((transaction) => rival.heartbeat(transaction)))).toBe('OWNER_UNKNOWN')
    await it.commit((transaction) => it.tasks.heartbeat(transaction))
    await it.commit((transaction) => it.tasks.expire(transaction, { olderThanMs: 60_000, then: 'ready' }))
    expect(names(await it.poll(1))).toEqual(['a'])
    expect(await codeOf(() => purgeOwners(-1))).toBe('ARGUMENT_INVALID')
  })

  testOn(['postgres-18'])('refresh is for the owner and for who may maintain the table, and others are told', async () => {
    const ask = (text: string): Promise<unknown> => it.commit((transaction) => it.subject.execute(transaction, raw(text)))
    const refresh = (): Promise<unknown> =>
      codeOf(() =>
        it.commit(async (transaction) => {
          await it.subject.execute(transaction, raw('set local role maintainer'))
          return it.tasks.refresh(transaction)
        }),
      )
    await ask('drop role if exists maintainer')
    await ask('create role maintainer; grant usage on schema taskstream to maintainer')
    try {
      expect(await refresh()).toBe('PERMISSION_DENIED')
      await ask('grant maintain on taskstream.task to maintainer')
      expect(await refresh()).toBeUndefined()
    } finally {
      await ask('drop owned by maintainer; drop role maintainer')
    }
  })

  test('limitStatements limits, or does nothing, and refuses what is no time', async () => {
    expect(await it.commit((transaction) => it.tasks.limitStatements(transaction, 1_000))).toBeUndefined()
    await expect(it.commit(async (transaction) => it.tasks.limitStatements(transaction, 0))).rejects.toMatchObject({
      code: 'ARGUMENT_INVALID',
    })
    if (!isPostgres) return
    const slow = it.commit(async (transaction) => {
      await it.tasks.limitStatements(transaction, 20)
      await it.subject.execute(transaction, sql`select pg_sleep(60)`)
    })
    await expect(slow).rejects.toMatchObject({ code: '57014' })
    const own = await it.commit(async (transaction) => {
      await it.subject.execute(transaction, sql`set local statement_timeout = '5s'`)
      await it.tasks.limitStatements(transaction, 20)
      return [...(await it.subject.execute(transaction, sql`select current_setting('statement_timeout') as own`))]
    })
    expect(own).toEqual([{ own: '5s' }])
  })

  test('refresh renews statistics', async () => {
    expect(await it.subject.owner.transactions((transaction) => it.tasks.refresh(transaction))).toBeUndefined()
  })

  testOn(['postgres'])('purge passes over what another transaction is working on', async () => {
    await it.push('a', 'b')
    await it.complete(await it.poll(2))
    const session = await it.subject.session()
    await session.begin()
    await it.tasks.recreate(session.transaction, it.topic, 'reset', { state: 'succeeded' })
    expect(await purge()).toBe(1)
    await session.commit()
    expect(names(await it.page())).toEqual(['a'])
  })

  testOn(['postgres'])('what a push in flight leaves behind when its topic is destroyed does not come back with it', async () => {
    const session = await it.subject.session()
    await session.begin()
    await it.tasks.push(session.transaction, it.topic, 'left')
    await it.commit((transaction) => it.tasks.destroy(transaction, it.topic))
    await session.commit()
    await it.commit((transaction) => it.tasks.initialize(transaction, it.topic))
    await it.push('new')
    expect(names((await it.poll(9)) as HeldTask[])).toEqual(['new'])
  })
})
