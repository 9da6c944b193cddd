/** A caller may have reasons for a stricter isolation: the verbs give the right answer there, or say that another was in the way. */
import { TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Session, Tasks } from '../subject.ts'
import { codeOf, names, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

const levels = ['repeatable read', 'serializable'] as const

describe.skipIf(!canRun).each(levels)('at %s', (level) => {
  let it: Fixture
  let session: Session
  beforeAll(async () => {
    it = await openFixture()
    session = await it.subject.session()
  })
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(async () => {
    await session.rollback()
    await it.nextTopic()
  })

  const success = (batch: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
    new Map(batch.map((task) => [task, TaskDecision.success()]))
  /** Begins, and fixes what the transaction sees. */
  const begin = async (): Promise<void> => {
    await session.begin()
    await it.subject.execute(session.transaction, raw(`set transaction isolation level ${level}`))
    await it.subject.execute(session.transaction, raw('select count(*) from taskstream.task'))
  }
  /** What a verb says when `rival` has committed after the transaction began to see; and that it is over then. */
  const against = async (rival: () => Promise<unknown>, verb: (transaction: AnyTransaction) => unknown): Promise<unknown> => {
    await begin()
    await rival()
    const outcome = await codeOf(() => verb(session.transaction))
    if (outcome === 'TRANSACTION_CONFLICT')
      expect(await codeOf(() => it.tasks.topics(session.transaction))).toBe('TRANSACTION_CLOSED')
    await session.rollback()
    return outcome
  }
  /** All that was pushed can be polled, and completed once. */
  const finish = async (by: Tasks = it.tasks): Promise<string[]> => {
    const batch = await it.poll(100, by)
    const { lost } = await it.commit<Completion>((transaction) => by.complete(transaction, it.topic, success(batch)))
    expect(lost).toEqual([])
    return names(batch)
  }

  test('push, poll, hold, complete, hand back and release are right when nobody is in the way', async () => {
    await begin()
    const { transaction } = session
    await it.tasks.push(transaction, it.topic, ['a', 'b', 'c', { identifier: 'd', externalId: 'd' }])
    const batch = (await it.tasks.poll(transaction, it.topic, { size: 3 })) as HeldTask[]
    expect(names(batch)).toEqual(['a', 'b', 'c'])
    const [a, b, c] = batch as [HeldTask, HeldTask, HeldTask]
    expect(await it.tasks.hold(transaction, it.topic, [a, b])).toEqual({ held: [a, b], lost: [] })
    expect(await it.tasks.complete(transaction, it.topic, success([a]))).toEqual({ completed: [a], lost: [] })
    expect(await it.tasks.handBack(transaction, it.topic, [b])).toEqual({ completed: [b], lost: [] })
    const later = new Map([[c, TaskDecision.retry({ afterMs: 0 })]])
    expect(await it.tasks.complete(transaction, it.topic, later)).toEqual({ completed: [c], lost: [] })
    await it.tasks.release(transaction, it.topic)
    await session.commit()
    expect(await finish()).toEqual(['b', 'c', 'd'])
  })

  test('a poll that a rival was ahead of says so, and what the rival left is found', async () => {
    const rival = await it.owner()
    await it.push('a', 'b', 'c')
    const taken: HeldTask[] = []
    const poll = (transaction: AnyTransaction): unknown => it.tasks.poll(transaction, it.topic, { size: 2 })
    expect(await against(async () => taken.push(...(await it.poll(1, rival))), poll)).toBe('TRANSACTION_CONFLICT')
    expect(names(taken)).toEqual(['a'])
    expect(await it.commit((transaction) => rival.complete(transaction, it.topic, success(taken)))).toMatchObject({ lost: [] })
    expect(await finish()).toEqual(['b', 'c'])
  })

  test('a poll while a rival is at it takes what the rival leaves', async () => {
    const rival = await it.owner()
    const other = await it.subject.session()
    await it.push('a', 'b', 'c')
    await other.begin()
    await rival.poll(other.transaction, it.topic, { size: 1 })
    await begin()
    const batch = (await it.tasks.poll(session.transaction, it.topic, { size: 2 })) as HeldTask[]
    expect(names(batch)).toEqual(['b', 'c'])
    await other.rollback()
    expect(await codeOf(() => session.commit())).toBeUndefined()
    expect(await it.commit((transaction) => it.tasks.complete(transaction, it.topic, success(batch)))).toMatchObject({ lost: [] })
    expect(await finish()).toEqual(['a'])
  })

  test('a completion of what was taken away meanwhile says so, and the new holder completes', async () => {
    const rival = await it.owner()
    await it.push('a', 'b')
    const batch = await it.poll()
    const takeAway = async (): Promise<void> => {
      await it.commit((transaction) => it.tasks.handBack(transaction, it.topic, batch.slice(0, 1)))
      expect(names(await it.poll(1, rival))).toEqual(['a'])
    }
    const complete = (transaction: AnyTransaction): unknown => it.tasks.complete(transaction, it.topic, success(batch))
    expect(await against(takeAway, complete)).toBe('TRANSACTION_CONFLICT')
    // Run again, it is told which task was lost.
    const { completed, lost } = await it.commit<Completion>((transaction) =>
      it.tasks.complete(transaction, it.topic, success(batch)),
    )
    expect([names(completed), names(lost)]).toEqual([['b'], ['a']])
    expect(await it.states()).toEqual({ active: 1, succeeded: 1 })
  })

  test('holding, or handing back, what was completed meanwhile says so', async () => {
    await it.push('a', 'b')
    for (const verb of [it.tasks.hold, it.tasks.handBack]) {
      const batch = await it.poll(1)
      const completeIt = (): Promise<unknown> =>
        it.commit((transaction) => it.tasks.complete(transaction, it.topic, success(batch)))
      expect(await against(completeIt, (transaction) => verb(transaction, it.topic, batch))).toBe('TRANSACTION_CONFLICT')
    }
    expect(await it.states()).toEqual({ succeeded: 2 })
  })

  test('a push of an external id that a rival has pushed meanwhile says so, and finds it when run again', async () => {
    const once = { identifier: 'a', externalId: 'a' }
    const push = (transaction: AnyTransaction): unknown => it.tasks.push(transaction, it.topic, [once, 'b'])
    expect(await against(() => it.push(once), push)).toBe('TRANSACTION_CONFLICT')
    expect((await it.push(once, 'b')).map(({ outcome }) => outcome)).toEqual(['duplicate', 'created'])
    expect(await finish()).toEqual(['a', 'b'])
  })

  test('a push is never in the way of other pushes and polls', async () => {
    await it.push('a')
    await begin()
    await it.push('b')
    await it.tasks.push(session.transaction, it.topic, 'c')
    expect(await finish()).toEqual(['a', 'b'])
    expect(await codeOf(() => session.commit())).toBeUndefined()
    expect(await finish()).toEqual(['c'])
  })

  test('a heartbeat and an expiry that others were ahead of say so', async () => {
    const beat = (): Promise<unknown> => it.commit((transaction) => it.tasks.heartbeat(transaction))
    expect(await against(beat, (transaction) => it.tasks.heartbeat(transaction))).toBe('TRANSACTION_CONFLICT')
    const dead = await it.owner()
    await it.push('a')
    await it.poll(1, dead)
    await it.commit((transaction) => dead.unregister(transaction))
    const expire = (transaction: AnyTransaction): unknown =>
      it.tasks.expire(transaction, { olderThanMs: 1_000_000, then: 'ready' })
    const other = await it.owner()
    const first = (): Promise<unknown> =>
      it.commit((transaction) => other.expire(transaction, { olderThanMs: 1_000_000, then: 'ready' }))
    expect(await against(first, expire)).toBe('TRANSACTION_CONFLICT')
    expect(await finish()).toEqual(['a'])
  })

  test('a completion of what was polled after the transaction began to see is refused, and does no harm', async () => {
    await it.push('a')
    let batch: HeldTask[] = []
    const outcome = await against(
      async () => (batch = await it.poll()),
      (transaction) => it.tasks.complete(transaction, it.topic, success(batch)),
    )
    // As this transaction sees it, the task was never polled.
    expect(outcome).toEqual({ completed: [], lost: batch })
    expect(await it.states()).toEqual({ active: 1 })
    expect(await it.commit((transaction) => it.tasks.complete(transaction, it.topic, success(batch)))).toMatchObject({ lost: [] })
  })

  test('what was pushed, or made, after the transaction began to see is not there for it', async () => {
    const poll = (transaction: AnyTransaction): unknown => it.tasks.poll(transaction, it.topic, { size: 1 })
    expect(await against(() => it.push('a'), poll)).toEqual([])
    expect(await finish()).toEqual(['a'])
    expect(
      await against(
        () => it.nextTopic(),
        (transaction) => it.tasks.push(transaction, it.topic, 'b'),
      ),
    ).toBe('TOPIC_UNKNOWN')
  })
})
