/**
 * Two transactions at the same row: whoever comes second waits for the outcome of the first, and then acts on that, not on what
 * it saw when it began.
 */
import { TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask, Holding } from '@taskstream/task-api'
import { sql } from '@taskstream/task-sql'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { Session, Tasks } from '../subject.ts'
import { codeOf, names, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

describe.skipIf(!canRun)('a transaction that waits for another', () => {
  let it: Fixture
  let first: Session
  let second: Session
  let holder: Tasks
  beforeAll(async () => {
    it = await openFixture()
    first = await it.subject.session()
    second = await it.subject.session()
  })
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(async () => {
    await it.nextTopic()
    holder = await it.owner()
  })
  afterEach(async () => {
    // One test's failure is not the next one's.
    await first.rollback()
    await second.rollback()
  })

  const held = async (...identifiers: string[]): Promise<HeldTask[]> => {
    await it.push(...identifiers)
    return it.poll(identifiers.length, holder)
  }
  const success = (batch: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
    new Map(batch.map((task) => [task, TaskDecision.success('mine')]))
  /** Does `work` on the second connection, and ends the first only when the database says that the second waits for it. */
  const whileWaiting = async <Result>(work: () => unknown, end: 'commit' | 'rollback'): Promise<Result> => {
    await second.begin()
    const [own] = await it.subject.execute(second.transaction, sql`select pg_backend_pid() as pid`)
    const blockers = sql`select cardinality(pg_blocking_pids(${Number(own?.['pid'])}::int)) as count`
    let found = 'nothing yet'
    const working = Promise.resolve(work()).finally(() => (found = 'it did not wait'))
    working.catch(() => {})
    const look = async (): Promise<string> => {
      const [row] = await it.commit((transaction) => it.subject.execute(transaction, blockers))
      return found === 'nothing yet' && Number(row?.['count']) > 0 ? 'it waits' : found
    }
    await expect.poll(look, { interval: 1 }).not.toBe('nothing yet')
    expect(await look()).toBe('it waits')
    await first[end]()
    const result = (await working) as Result
    await second.commit()
    return result
  }
  /** The holder is dead: its tasks are taken from it, in the first transaction, which stays open. */
  const bury = async (): Promise<unknown> => {
    await it.commit((transaction) => holder.unregister(transaction))
    await first.begin()
    return it.tasks.expire(first.transaction, { olderThanMs: 86_400_000, then: 'ready' })
  }

  test('to expire its tasks completes none of them, once that is committed', async () => {
    const batch = await held('a', 'b')
    expect(await bury()).toMatchObject({ ready: 2 })
    const completing = (): unknown => holder.complete(second.transaction, it.topic, success(batch))
    expect(await whileWaiting<Completion>(completing, 'commit')).toEqual({ completed: [], lost: batch })
    expect(await it.states()).toEqual({ ready: 2 })
  })

  test('to expire its tasks completes all of them, if that is rolled back', async () => {
    const batch = await held('a', 'b')
    await bury()
    const completing = (): unknown => holder.complete(second.transaction, it.topic, success(batch))
    expect(await whileWaiting<Completion>(completing, 'rollback')).toEqual({ completed: batch, lost: [] })
    expect(await it.states()).toEqual({ succeeded: 2 })
  })

  test('to expire its tasks is told before it writes that it holds none of them', async () => {
    const batch = await held('a', 'b')
    await bury()
    const holding = (): unknown => holder.hold(second.transaction, it.topic, batch)
    expect(await whileWaiting<Holding>(holding, 'commit')).toEqual({ held: [], lost: batch })
  })

  test('to expire its tasks hands none of them back', async () => {
    const batch = await held('a')
    await bury()
    const handing = (): unknown => holder.handBack(second.transaction, it.topic, batch)
    expect(await whileWaiting<Completion>(handing, 'commit')).toEqual({ completed: [], lost: batch })
    expect(await it.page()).toMatchObject([{ state: 'ready', attempt: 1, tries: 1, reason: 'lease' }])
  })

  test('to complete its task does not complete it again', async () => {
    const batch = await held('a')
    await first.begin()
    await holder.complete(first.transaction, it.topic, success(batch))
    const again = new Map(batch.map((task) => [task, TaskDecision.failure('again')]))
    const completing = (): unknown => holder.complete(second.transaction, it.topic, again)
    expect(await whileWaiting<Completion>(completing, 'commit')).toEqual({ completed: [], lost: batch })
    expect(await it.page()).toMatchObject([{ state: 'succeeded', output: 'mine' }])
  })

  test('to hand its task back does not complete it, though the same owner has it again since', async () => {
    const batch = await held('a')
    await first.begin()
    await holder.handBack(first.transaction, it.topic, batch)
    expect(names((await holder.poll(first.transaction, it.topic)) as HeldTask[])).toEqual(['a'])
    const completing = (): unknown => holder.complete(second.transaction, it.topic, success(batch))
    expect(await whileWaiting<Completion>(completing, 'commit')).toEqual({ completed: [], lost: batch })
    expect(await it.page()).toMatchObject([{ state: 'active', attempt: 2 }])
  })

  test('to initialise the same topic finds it known, or is the one that makes it known', async () => {
    for (const [end, isNew] of [
      ['commit', false],
      ['rollback', true],
    ] as const) {
      const topic = `${it.topic}-${end}`
      await first.begin()
      expect(await it.tasks.initialize(first.transaction, topic)).toBe(true)
      expect(await whileWaiting(() => it.tasks.initialize(second.transaction, topic), end)).toBe(isNew)
    }
  })

  test('is not what an expiry or a release does: they pass over what others hold', async () => {
    const [a] = await held('a', 'b')
    await first.begin()
    expect(await holder.hold(first.transaction, it.topic, [a!])).toMatchObject({ held: [a] })
    await it.commit((transaction) => holder.unregister(transaction))
    expect(
      await it.commit((transaction) => it.tasks.expire(transaction, { olderThanMs: 86_400_000, then: 'ready' })),
    ).toMatchObject({ ready: 1 })
    expect(await holder.complete(first.transaction, it.topic, success([a!]))).toMatchObject({ completed: [a] })
    await first.commit()
    expect(await it.page()).toMatchObject([{ state: 'succeeded' }, { state: 'ready' }])

    await it.nextTopic()
    await it.push({ identifier: 'a', delayMs: 1 }, { identifier: 'b', delayMs: 1 })
    const release = async (session: Session): Promise<number> =>
      ((await it.tasks.release(session.transaction, it.topic, { limit: 1 })) as { released: number }).released
    await expect
      .poll(async () => {
        await first.begin()
        const released = await release(first)
        if (released === 0) await first.rollback()
        return released
      })
      .toBe(1)
    await second.begin()
    await expect.poll(() => release(second)).toBe(1)
    await first.commit()
    await second.commit()
    expect(await it.states()).toEqual({ ready: 2 })
  })

  test('for a topic that nobody else sees yet is not kept waiting: the topic is unknown', async () => {
    const topic = `${it.topic}-unseen`
    await first.begin()
    await it.tasks.initialize(first.transaction, topic)
    expect(await it.tasks.push(first.transaction, topic, 'a')).toMatchObject([{ outcome: 'created' }])
    expect(await codeOf(() => it.commit((transaction) => it.tasks.push(transaction, topic, 'b')))).toBe('TOPIC_UNKNOWN')
    await first.commit()
    expect(await it.commit((transaction) => it.tasks.push(transaction, topic, 'b'))).toMatchObject([{ outcome: 'created' }])
  })
})
