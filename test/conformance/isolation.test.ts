/** In a transaction with stricter isolation, the verbs give the right answer, or fail with an error that says that another transaction was in the way. */
import { TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction, Session, Tasks } from '../subject.ts'
import { codeOf, names, openFixture, whileTested } from '@taskstream/task-testing/suite'

const levels = ['repeatable read', 'serializable'] as const

describe.skipIf(!canRun).each(levels)('at %s', (level) => {
  const fixture = whileTested(() => openFixture(engine))
  let session: Session
  beforeAll(async () => {
    session = await fixture.subject.session()
  })
  beforeEach(async () => {
    await session.rollback()
    await fixture.nextTopic()
  })

  const success = (batch: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
    new Map(batch.map((task) => [task, TaskDecision.success()]))
  /** Begins a transaction and takes its snapshot. */
  const begin = async (): Promise<void> => {
    await session.begin()
    await fixture.subject.execute(session.transaction, raw(`set transaction isolation level ${level}`))
    await fixture.subject.execute(session.transaction, raw('select count(*) from taskstream.task'))
  }
  /** Runs a verb after `rival` has committed behind the transaction's snapshot, and ends the transaction. */
  const against = async (rival: () => Promise<unknown>, verb: (transaction: AnyTransaction) => unknown): Promise<unknown> => {
    await begin()
    await rival()
    const outcome = await codeOf(() => verb(session.transaction))
    if (outcome === 'TRANSACTION_CONFLICT')
      expect(await codeOf(() => fixture.tasks.topics(session.transaction))).toBe('TRANSACTION_CLOSED')
    await session.rollback()
    return outcome
  }
  /** Polls and completes all tasks. */
  const finish = async (by: Tasks = fixture.tasks): Promise<string[]> => {
    const batch = await fixture.poll(100, by)
    const { lost } = await fixture.commit<Completion>((transaction) => by.complete(transaction, fixture.topic, success(batch)))
    expect(lost).toEqual([])
    return names(batch)
  }

  test('push, poll, hold, complete, hand back and release are right when nobody is in the way', async () => {
    await begin()
    const { transaction } = session
    await fixture.tasks.push(transaction, fixture.topic, ['a', 'b', 'c', { identifier: 'd', externalId: 'd' }])
    const batch = (await fixture.tasks.poll(transaction, fixture.topic, { size: 3 })) as HeldTask[]
    expect(names(batch)).toEqual(['a', 'b', 'c'])
    const [a, b, c] = batch as [HeldTask, HeldTask, HeldTask]
    expect(await fixture.tasks.hold(transaction, fixture.topic, [a, b])).toEqual({ held: [a, b], lost: [] })
    expect(await fixture.tasks.complete(transaction, fixture.topic, success([a]))).toEqual({ completed: [a], lost: [] })
    expect(await fixture.tasks.handBack(transaction, fixture.topic, [b])).toEqual({ completed: [b], lost: [] })
    const later = new Map([[c, TaskDecision.retry({ afterMs: 0 })]])
    expect(await fixture.tasks.complete(transaction, fixture.topic, later)).toEqual({ completed: [c], lost: [] })
    await fixture.tasks.promoteDue(transaction, fixture.topic)
    await session.commit()
    expect(await finish()).toEqual(['b', 'c', 'd'])
  })

  test('a poll that a rival was ahead of says so, and what the rival left is found', async () => {
    const rival = await fixture.owner()
    await fixture.push('a', 'b', 'c')
    const taken: HeldTask[] = []
    const poll = (transaction: AnyTransaction): unknown => fixture.tasks.poll(transaction, fixture.topic, { size: 2 })
    expect(await against(async () => taken.push(...(await fixture.poll(1, rival))), poll)).toBe('TRANSACTION_CONFLICT')
    expect(names(taken)).toEqual(['a'])
    expect(await fixture.commit((transaction) => rival.complete(transaction, fixture.topic, success(taken)))).toMatchObject({
      lost: [],
    })
    expect(await finish()).toEqual(['b', 'c'])
  })

  test('a poll while a rival is at it takes what the rival leaves', async () => {
    const rival = await fixture.owner()
    const other = await fixture.subject.session()
    await fixture.push('a', 'b', 'c')
    await other.begin()
    await rival.poll(other.transaction, fixture.topic, { size: 1 })
    await begin()
    const batch = (await fixture.tasks.poll(session.transaction, fixture.topic, { size: 2 })) as HeldTask[]
    expect(names(batch)).toEqual(['b', 'c'])
    await other.rollback()
    expect(await codeOf(() => session.commit())).toBeUndefined()
    expect(
      await fixture.commit((transaction) => fixture.tasks.complete(transaction, fixture.topic, success(batch))),
    ).toMatchObject({ lost: [] })
    expect(await finish()).toEqual(['a'])
  })

  test('a completion of what was taken away meanwhile says so, and the new holder completes', async () => {
    const rival = await fixture.owner()
    await fixture.push('a', 'b')
    const batch = await fixture.poll()
    const takeAway = async (): Promise<void> => {
      await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, batch.slice(0, 1)))
      expect(names(await fixture.poll(1, rival))).toEqual(['a'])
    }
    const complete = (transaction: AnyTransaction): unknown => fixture.tasks.complete(transaction, fixture.topic, success(batch))
    expect(await against(takeAway, complete)).toBe('TRANSACTION_CONFLICT')
    // The verb runs again in a new transaction, and learns which task was lost.
    const { completed, lost } = await fixture.commit<Completion>((transaction) =>
      fixture.tasks.complete(transaction, fixture.topic, success(batch)),
    )
    expect([names(completed), names(lost)]).toEqual([['b'], ['a']])
    expect(await fixture.states()).toEqual({ active: 1, succeeded: 1 })
  })

  test('holding, or handing back, what was completed meanwhile says so', async () => {
    await fixture.push('a', 'b')
    for (const verb of [fixture.tasks.hold, fixture.tasks.handBack]) {
      const batch = await fixture.poll(1)
      const completeIt = (): Promise<unknown> =>
        fixture.commit((transaction) => fixture.tasks.complete(transaction, fixture.topic, success(batch)))
      expect(await against(completeIt, (transaction) => verb(transaction, fixture.topic, batch))).toBe('TRANSACTION_CONFLICT')
    }
    expect(await fixture.states()).toEqual({ succeeded: 2 })
  })

  test('a push of an external id that a rival has pushed meanwhile says so, and finds it when run again', async () => {
    const once = { identifier: 'a', externalId: 'a' }
    const push = (transaction: AnyTransaction): unknown => fixture.tasks.push(transaction, fixture.topic, [once, 'b'])
    expect(await against(() => fixture.push(once), push)).toBe('TRANSACTION_CONFLICT')
    expect((await fixture.push(once, 'b')).map(({ outcome }) => outcome)).toEqual(['duplicate', 'created'])
    expect(await finish()).toEqual(['a', 'b'])
  })

  test('a push is never in the way of other pushes and polls', async () => {
    await fixture.push('a')
    await begin()
    await fixture.push('b')
    await fixture.tasks.push(session.transaction, fixture.topic, 'c')
    expect(await finish()).toEqual(['a', 'b'])
    expect(await codeOf(() => session.commit())).toBeUndefined()
    expect(await finish()).toEqual(['c'])
  })

  test('a heartbeat and an expiry that others were ahead of say so', async () => {
    const beat = (): Promise<unknown> => fixture.commit((transaction) => fixture.tasks.heartbeat(transaction))
    expect(await against(beat, (transaction) => fixture.tasks.heartbeat(transaction))).toBe('TRANSACTION_CONFLICT')
    const dead = await fixture.owner()
    await fixture.push('a')
    await fixture.poll(1, dead)
    await fixture.commit((transaction) => dead.unregister(transaction))
    const expire = (transaction: AnyTransaction): unknown =>
      fixture.tasks.expire(transaction, { olderThanMs: 1_000_000, then: 'ready' })
    const other = await fixture.owner()
    const first = (): Promise<unknown> =>
      fixture.commit((transaction) => other.expire(transaction, { olderThanMs: 1_000_000, then: 'ready' }))
    expect(await against(first, expire)).toBe('TRANSACTION_CONFLICT')
    expect(await finish()).toEqual(['a'])
  })

  test('a completion of what was polled after the transaction began to see is refused, and does no harm', async () => {
    await fixture.push('a')
    let batch: HeldTask[] = []
    const outcome = await against(
      async () => (batch = await fixture.poll()),
      (transaction) => fixture.tasks.complete(transaction, fixture.topic, success(batch)),
    )
    // In this transaction's snapshot the task was never polled.
    expect(outcome).toEqual({ completed: [], lost: batch })
    expect(await fixture.states()).toEqual({ active: 1 })
    expect(
      await fixture.commit((transaction) => fixture.tasks.complete(transaction, fixture.topic, success(batch))),
    ).toMatchObject({ lost: [] })
  })

  test('what was pushed, or made, after the transaction began to see is not there for it', async () => {
    const poll = (transaction: AnyTransaction): unknown => fixture.tasks.poll(transaction, fixture.topic, { size: 1 })
    expect(await against(() => fixture.push('a'), poll)).toEqual([])
    expect(await finish()).toEqual(['a'])
    expect(
      await against(
        () => fixture.nextTopic(),
        (transaction) => fixture.tasks.push(transaction, fixture.topic, 'b'),
      ),
    ).toBe('TOPIC_UNKNOWN')
  })
})
