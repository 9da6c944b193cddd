/**
 * If two transactions work on the same row, the second waits for the end of the first. It then acts on the row as it is now, and not on
 * the row that it saw at first.
 */
import { TaskDecision } from '@taskstream/task-api'
import type { Cancellation, Completion, HeldTask, Holding, Task } from '@taskstream/task-api'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { Session, Tasks } from '../subject.ts'
import { codeOf, names, useFixture } from '@taskstream/task-testing/suite'
import { whileWaiting } from './while-waiting.ts'

describe.skipIf(!canRun)('a transaction that waits for another', () => {
  const fixture = useFixture(engine)
  let first: Session
  let second: Session
  let holder: Tasks
  beforeAll(async () => {
    first = await fixture.subject.session()
    second = await fixture.subject.session()
  })
  beforeEach(async () => {
    holder = await fixture.owner()
  })
  afterEach(async () => {
    // The failure of one test must not fail the next one.
    await first.rollback()
    await second.rollback()
  })

  const held = async (...identifiers: string[]): Promise<HeldTask[]> => {
    await fixture.push(...identifiers)
    return fixture.poll(identifiers.length, holder)
  }
  const success = (batch: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
    new Map(batch.map((task) => [task, TaskDecision.success('mine')]))
  const key = ({ topic, sequence, identifier }: Task): Task => ({ topic, sequence, identifier })
  /** Runs `work` in the second transaction, and ends the first once the database says that the second waits for it. */
  const waited = <Result>(work: () => unknown, end: 'commit' | 'rollback'): Promise<Result> =>
    whileWaiting({ subject: fixture.subject, first, second }, () => work() as Promise<Result>, end)
  /** Expires the dead holder's tasks in the first transaction, which stays open. */
  const bury = async (): Promise<unknown> => {
    await fixture.commit((transaction) => holder.unregister(transaction))
    await first.begin()
    return fixture.tasks.expire(first.transaction, { olderThanMs: 86_400_000, then: 'ready' })
  }

  test('to expire its tasks completes none of them, once that is committed', async () => {
    const batch = await held('a', 'b')
    expect(await bury()).toMatchObject({ ready: 2 })
    const completing = (): unknown => holder.complete(second.transaction, fixture.topic, success(batch))
    expect(await waited<Completion>(completing, 'commit')).toEqual({ completed: [], lost: batch })
    expect(await fixture.states()).toEqual({ ready: 2 })
  })

  test('to expire its tasks completes all of them, if that is rolled back', async () => {
    const batch = await held('a', 'b')
    await bury()
    const completing = (): unknown => holder.complete(second.transaction, fixture.topic, success(batch))
    expect(await waited<Completion>(completing, 'rollback')).toEqual({ completed: batch, lost: [] })
    expect(await fixture.states()).toEqual({ succeeded: 2 })
  })

  test('to expire its tasks is told before it writes that it holds none of them', async () => {
    const batch = await held('a', 'b')
    await bury()
    const holding = (): unknown => holder.hold(second.transaction, fixture.topic, batch)
    expect(await waited<Holding>(holding, 'commit')).toEqual({ held: [], lost: batch })
  })

  test('to expire its tasks hands none of them back', async () => {
    const batch = await held('a')
    await bury()
    const handing = (): unknown => holder.handBack(second.transaction, fixture.topic, batch)
    expect(await waited<Completion>(handing, 'commit')).toEqual({ completed: [], lost: batch })
    expect(await fixture.page()).toMatchObject([{ state: 'ready', attempt: 1, tries: 1, reason: 'lease' }])
  })

  test.each([
    ['has it wait for no others, once that is committed', 'commit', 'TASK_STATE', { ready: 1 }],
    ['has it wait for others, if that is rolled back', 'rollback', undefined, { blocked: 1 }],
  ] as const)('to make a suspended task ready %s', async (_, end, code, states) => {
    const [aside] = await fixture.push({ identifier: 'a', suspended: true })
    await first.begin()
    await fixture.tasks.recreate(first.transaction, fixture.topic, 'reset', [aside!])
    const needs = [{ need: 'x', on: { topic: fixture.topic, sequence: 0 } }]
    const depending = (): unknown => codeOf(() => fixture.tasks.depend(second.transaction, aside!, needs))
    expect(await waited(depending, end)).toBe(code)
    expect(await fixture.states()).toEqual(states)
  })

  test('to complete its task does not complete it again', async () => {
    const batch = await held('a')
    await first.begin()
    await holder.complete(first.transaction, fixture.topic, success(batch))
    const again = new Map(batch.map((task) => [task, TaskDecision.failure('again')]))
    const completing = (): unknown => holder.complete(second.transaction, fixture.topic, again)
    expect(await waited<Completion>(completing, 'commit')).toEqual({ completed: [], lost: batch })
    expect(await fixture.page()).toMatchObject([{ state: 'succeeded', output: 'mine' }])
  })

  test.each([
    ['cancels it no more, once that is committed', 'commit', [], { succeeded: 1, ready: 1 }],
    ['cancels it, if that is rolled back', 'rollback', ['a'], { filtered: 1, ready: 1 }],
  ] as const)('to complete its task %s', async (_, end, cancelled, states) => {
    const batch = await held('a')
    await fixture.push('b')
    await first.begin()
    await holder.complete(first.transaction, fixture.topic, success(batch))
    const cancelling = (): unknown => fixture.tasks.cancel(second.transaction, fixture.topic, batch[0]!.sequence)
    const answer = await waited<Cancellation>(cancelling, end)
    expect([names(answer.cancelled), names(answer.taken)]).toEqual([cancelled, cancelled])
    expect(await fixture.states()).toEqual(states)
  })

  test('to cancel its task is refused the completion, and what was written with it is undone', async () => {
    const batch = await held('a')
    await first.begin()
    expect(await fixture.tasks.cancel(first.transaction, fixture.topic, batch[0]!.sequence)).toMatchObject({
      taken: batch.map(key),
    })
    const completing = (): unknown =>
      codeOf(() => holder.complete(second.transaction, fixture.topic, success(batch), { strict: true }))
    expect(await waited(completing, 'commit')).toBe('TASK_LOST')
    expect(await fixture.page()).toMatchObject([{ state: 'filtered', reason: 'cancelled' }])
  })

  test('to poll a task reschedules it no more, once that is committed', async () => {
    const [a] = await fixture.push('a')
    await first.begin()
    expect(await holder.poll(first.transaction, fixture.topic)).toHaveLength(1)
    const moving = (): unknown => fixture.tasks.reschedule(second.transaction, fixture.topic, a!.sequence, { delayMs: 5_000 })
    expect(await waited(moving, 'commit')).toEqual([])
    expect(await fixture.states()).toEqual({ active: 1 })
  })

  test('to hand its task back does not complete it, though the same owner has it again since', async () => {
    const batch = await held('a')
    await first.begin()
    await holder.handBack(first.transaction, fixture.topic, batch)
    expect(names((await holder.poll(first.transaction, fixture.topic)) as HeldTask[])).toEqual(['a'])
    const completing = (): unknown => holder.complete(second.transaction, fixture.topic, success(batch))
    expect(await waited<Completion>(completing, 'commit')).toEqual({ completed: [], lost: batch })
    expect(await fixture.page()).toMatchObject([{ state: 'active', attempt: 2 }])
  })

  test.each([
    ['is done to it, once that is committed', 'commit', { ready: 1 }],
    ['reassigns it, if that is rolled back', 'rollback', { succeeded: 1 }],
  ] as const)('to reset a failed task reassigns what is left when all %s', async (_, end, states) => {
    await fixture.complete(await held('a'), TaskDecision.failure(), holder)
    await first.begin()
    await fixture.tasks.redrive(first.transaction, fixture.topic)
    const reassigning = (): unknown =>
      fixture.tasks.reassignAll(second.transaction, fixture.topic, { from: 'failed', to: 'success' })
    expect(await waited(reassigning, end)).toBe(end === 'commit' ? 0 : 1)
    expect(await fixture.states()).toEqual(states)
  })

  test.each([
    ['is refused the task, once that is committed', 'commit', 'TASK_STATE'],
    ['recreates the task, if that is rolled back', 'rollback', undefined],
  ] as const)('to reset a failed task %s', async (_, end, code) => {
    const batch = await held('a')
    await fixture.complete(batch, TaskDecision.failure(), holder)
    await first.begin()
    await fixture.tasks.redrive(first.transaction, fixture.topic)
    const recreating = async (): Promise<unknown> =>
      codeOf(async () => void (await fixture.tasks.recreate(second.transaction, fixture.topic, 'append', batch)))
    expect(await waited(recreating, end)).toBe(code)
    expect(await fixture.states()).toEqual(end === 'commit' ? { ready: 1 } : { recreated: 1, ready: 1 })
  })

  test.each([
    ['does not start it, once that is committed', 'commit', []],
    ['starts it, if that is rolled back', 'rollback', ['a']],
  ] as const)('to cancel what has arrived at a junction %s', async (_, end, started) => {
    await fixture.nextTopic({ keyed: true })
    const [a] = await fixture.push({ identifier: 'a', suspended: true })
    await first.begin()
    await fixture.tasks.cancel(first.transaction, fixture.topic, a!.sequence)
    const joining = async (): Promise<string[]> => [
      ...(await fixture.tasks.junction(second.transaction, fixture.topic, 'singular', [['a']])),
    ]
    expect(await waited(joining, end)).toEqual(started)
  })

  test('to initialise the same topic finds it known, or is the one that makes it known', async () => {
    for (const [end, isNew] of [
      ['commit', false],
      ['rollback', true],
    ] as const) {
      const topic = `${fixture.topic}-${end}`
      await first.begin()
      expect(await fixture.tasks.initialize(first.transaction, topic)).toBe(true)
      expect(await waited(() => fixture.tasks.initialize(second.transaction, topic), end)).toBe(isNew)
    }
  })

  test.each([
    ['starts it, once that is committed', 'commit', ['a', 'b']],
    ['starts nothing, if that is rolled back', 'rollback', []],
  ] as const)('to complete a group with its own half %s', async (_, end, started) => {
    await fixture.nextTopic({ keyed: true })
    const arrive = async ({ transaction }: Session, identifier: string): Promise<string[]> => {
      await fixture.tasks.push(transaction, fixture.topic, { identifier, suspended: true })
      return [...(await fixture.tasks.junction(transaction, fixture.topic, 'singular', [['a', 'b']]))].toSorted()
    }
    await first.begin()
    expect(await arrive(first, 'a')).toEqual([])
    expect(await waited(() => arrive(second, 'b'), end)).toEqual(started)
    expect(await fixture.states()).toEqual(end === 'commit' ? { ready: 2 } : { suspended: 1 })
    // The task has been started, so another junction does not start it again.
    const again = fixture.commit<ReadonlySet<string>>((transaction) =>
      fixture.tasks.junction(transaction, fixture.topic, 'singular', [['a', 'b']]),
    )
    expect((await again).size).toBe(0)
  })

  test('is not what an expiry or a release does: they pass over what others hold', async () => {
    const [a] = await held('a', 'b')
    await first.begin()
    expect(await holder.hold(first.transaction, fixture.topic, [a!])).toMatchObject({ held: [a] })
    await fixture.commit((transaction) => holder.unregister(transaction))
    expect(
      await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 86_400_000, then: 'ready' })),
    ).toMatchObject({ ready: 1 })
    expect(await holder.complete(first.transaction, fixture.topic, success([a!]))).toMatchObject({ completed: [a] })
    await first.commit()
    expect(await fixture.page()).toMatchObject([{ state: 'succeeded' }, { state: 'ready' }])

    await fixture.nextTopic()
    await fixture.push({ identifier: 'a', delayMs: 1 }, { identifier: 'b', delayMs: 1 })
    const release = async (session: Session): Promise<number> =>
      ((await fixture.tasks.promoteDue(session.transaction, fixture.topic, { limit: 1 })) as { promoted: number }).promoted
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
    expect(await fixture.states()).toEqual({ ready: 2 })
  })

  test('for a topic that nobody else sees yet is not kept waiting: the topic is unknown', async () => {
    const topic = `${fixture.topic}-unseen`
    await first.begin()
    await fixture.tasks.initialize(first.transaction, topic)
    expect(await fixture.tasks.push(first.transaction, topic, 'a')).toMatchObject([{ outcome: 'created' }])
    expect(await codeOf(() => fixture.commit((transaction) => fixture.tasks.push(transaction, topic, 'b')))).toBe('TOPIC_UNKNOWN')
    await first.commit()
    expect(await fixture.commit((transaction) => fixture.tasks.push(transaction, topic, 'b'))).toMatchObject([
      { outcome: 'created' },
    ])
  })
})
