/**
 * Tasks that are polled with the hold `transaction` are completed in the same transaction, so the database may lock each and
 * write it once.
 */
import { TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask, PollHold, TopicOptions } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { beforeAll, expect, test } from 'vitest'
import { names, useFixture } from './fixture.ts'
import { part, testWhere } from './engine.ts'
import type { Part, Session } from './engine.ts'

export const holdTransaction: Part = part('a poll for its transaction only', (engine) => {
  let clock = Date.UTC(2026, 0, 1)
  const fixture = useFixture(engine, { clock: () => new Date(clock), topic: { record: 'states' } })
  let session: Session
  beforeAll(async () => {
    session = await fixture.subject.session()
  })

  const take = async (size = 10, hold: PollHold = 'transaction'): Promise<HeldTask[]> =>
    fixture.tasks.poll(session.transaction, fixture.topic, { size, hold })
  const complete = async (tasks: readonly HeldTask[], decision = TaskDecision.success()): Promise<Completion> =>
    fixture.tasks.complete(session.transaction, fixture.topic, new Map(tasks.map((task) => [task, decision])))

  test('gives what any poll gives, and what is completed looks like what any poll took', async () => {
    await fixture.push({ identifier: 'a', input: 'x', headers: { h: 1 } }, 'b')
    await session.begin()
    const batch = await take()
    expect(batch).toMatchObject([
      { identifier: 'a', input: 'x', headers: { h: 1 }, attempt: 1, tries: 1 },
      { identifier: 'b', attempt: 1, tries: 1 },
    ])
    expect(await complete(batch, TaskDecision.failure('no'))).toEqual({ completed: batch, lost: [] })
    await session.commit()
    const told = { state: 'failed', attempt: 1, tries: 1, owner: fixture.tasks.owner, output: 'no' }
    const [a, b] = await fixture.page()
    expect([a, b]).toMatchObject([told, told])
    expect(a!.started).toEqual(new Date(clock))
    expect(a!.completed).toEqual(new Date(clock))
  })

  test('leaves nothing when it is rolled back', async () => {
    await fixture.push('a')
    await session.begin()
    await complete(await take())
    await session.rollback()
    expect(await fixture.page()).toMatchObject([{ state: 'ready', attempt: 0, tries: 0 }])
    expect(await fixture.poll()).toMatchObject([{ identifier: 'a', attempt: 1 }])
  })

  test('gives nothing twice in its transaction, whatever the second poll is for', async () => {
    await fixture.push('a', 'b', 'c', 'd')
    await session.begin()
    const [first, second, third] = [await take(1), await take(2), await take(10, 'lease')]
    expect([first, second, third].map(names)).toEqual([['a'], ['b', 'c'], ['d']])
    expect(await complete([...third!, ...first!, ...second!])).toMatchObject({ completed: { length: 4 }, lost: [] })
    await session.commit()
    expect(await fixture.states()).toEqual({ succeeded: 4 })
  })

  test('gives again what its transaction has completed, and then reset', async () => {
    await fixture.push('a')
    await session.begin()
    await complete(await take())
    await fixture.tasks.recreate(session.transaction, fixture.topic, 'reset', { state: 'succeeded' })
    const again = await take()
    expect(again).toMatchObject([{ identifier: 'a', attempt: 2 }])
    expect(await complete(again)).toEqual({ completed: again, lost: [] })
    await session.commit()
    expect(await fixture.page()).toMatchObject([{ state: 'succeeded', attempt: 2 }])
  })

  test('gives nothing twice of what its transaction has pushed itself', async () => {
    await fixture.push('a')
    await session.begin()
    await fixture.tasks.push(session.transaction, fixture.topic, ['b', 'c'])
    const batches = [await take(2), await take(2), await take(2)]
    expect(batches.map(names)).toEqual([['a', 'b'], ['c'], []])
    expect(await complete(batches.flat())).toMatchObject({ completed: { length: 3 }, lost: [] })
    await session.commit()
    expect(await fixture.states()).toEqual({ succeeded: 3 })
  })

  test('brings in order what was handed back before and what is fresh', async () => {
    await fixture.push('a', 'b', 'c')
    const [a] = await fixture.poll(1)
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [a!]))
    await fixture.push('d')
    await session.begin()
    const batch = await take(3)
    expect(names(batch)).toEqual(['a', 'b', 'c'])
    expect(batch[0]).toMatchObject({ attempt: 2, tries: 1 })
    await complete(batch)
    await session.commit()
    expect(names(await fixture.poll())).toEqual(['d'])
  })

  test('counts the try: the last one that is to be retried has failed', async () => {
    await fixture.push({ identifier: 'a', maxTries: 2 })
    for (const state of ['suspended', 'failed']) {
      await session.begin()
      await complete(await take(), TaskDecision.retry({ afterMs: 1 }))
      await session.commit()
      expect(await fixture.page()).toMatchObject([{ state }])
      clock += 10
      await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    }
  })

  test('does not count the try of what is put off, however often', async () => {
    await fixture.push({ identifier: 'a', maxTries: 1 })
    for (const attempt of [1, 2]) {
      await session.begin()
      await complete(await take(), TaskDecision.snooze({ afterMs: 1 }))
      await session.commit()
      expect(await fixture.page()).toMatchObject([{ state: 'suspended', attempt, tries: 0, owner: fixture.tasks.owner }])
      clock += 10
      await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    }
  })

  test('does not bring what is past its deadline, and says so of it', async () => {
    await fixture.push({ identifier: 'late', deadlineMs: 5 }, 'b')
    clock += 10
    await session.begin()
    const batch = await take(1)
    expect(names(batch)).toEqual(['b'])
    await complete(batch)
    await session.commit()
    expect(await fixture.page()).toMatchObject([
      { state: 'filtered', reason: 'deadline', attempt: 1 },
      { state: 'succeeded', attempt: 1 },
    ])
  })

  test('holds its tasks, and hands back what is left undone in its old place', async () => {
    await fixture.push('a', 'b', 'c')
    await session.begin()
    const [a, b] = await take(2)
    expect(await fixture.tasks.hold(session.transaction, fixture.topic, [a!, b!])).toEqual({ held: [a, b], lost: [] })
    expect(await fixture.tasks.lost(session.transaction, fixture.topic, [a!, b!])).toEqual([])
    await complete([b!])
    expect(await fixture.tasks.handBack(session.transaction, fixture.topic, [a!])).toEqual({ completed: [a], lost: [] })
    await session.commit()
    expect(await fixture.states()).toEqual({ ready: 2, succeeded: 1 })
    const rest = await fixture.poll()
    expect(names(rest)).toEqual(['a', 'c'])
    expect(rest[0]!.tries).toBe(1)
  })

  test('is handed back together with what an earlier poll took, and each is told of', async () => {
    await fixture.push('a', 'b', 'c', 'd')
    const [a, b] = await fixture.poll(2)
    await fixture.complete([b!])
    await session.begin()
    const [c, d] = await take(2)
    await complete([d!])
    const all = [a!, b!, c!, d!]
    const { completed, lost } = (await fixture.tasks.handBack(session.transaction, fixture.topic, all)) as Completion
    expect([names(completed).toSorted(), names(lost).toSorted()]).toEqual([
      ['a', 'c'],
      ['b', 'd'],
    ])
    await session.commit()
    expect(names(await fixture.poll())).toEqual(['a', 'c'])
  })

  test('completes nothing once its transaction has ended', async () => {
    await fixture.push('a')
    await session.begin()
    const batch = await take()
    await session.rollback()
    await session.begin()
    expect(await complete(batch)).toEqual({ completed: [], lost: batch })
    // The old batch stays lost even after this transaction has polled the task again.
    const again = await take()
    expect(await fixture.tasks.hold(session.transaction, fixture.topic, again)).toEqual({ held: again, lost: [] })
    await complete(again)
    expect(await complete(batch)).toEqual({ completed: [], lost: batch })
    await session.commit()
  })

  test('holds what it has taken inside a savepoint that was released, and gives it no second time', async () => {
    await fixture.push('a', 'b', 'c')
    await session.begin()
    await fixture.subject.execute(session.transaction, raw('savepoint here'))
    const [a, b] = await take(2)
    await fixture.subject.execute(session.transaction, raw('release savepoint here'))
    expect(names(await take(1))).toEqual(['c'])
    expect(await fixture.tasks.hold(session.transaction, fixture.topic, [a!])).toEqual({ held: [a], lost: [] })
    expect(await complete([a!, b!])).toEqual({ completed: [a, b], lost: [] })
    await session.commit()
    expect((await fixture.page()).slice(0, 2)).toMatchObject([
      { state: 'succeeded' },
      { state: 'succeeded', attempt: 1, tries: 1 },
    ])
  })

  test('holds what it has completed inside a savepoint that was rolled back to', async () => {
    await fixture.push('a', 'b')
    await session.begin()
    const [a] = await take(1)
    await fixture.subject.execute(session.transaction, raw('savepoint here'))
    expect(await complete([a!])).toEqual({ completed: [a], lost: [] })
    await fixture.subject.execute(session.transaction, raw('rollback to savepoint here'))
    expect(names(await take(1))).toEqual(['b'])
    expect(await fixture.tasks.hold(session.transaction, fixture.topic, [a!])).toEqual({ held: [a], lost: [] })
    expect(await complete([a!], TaskDecision.failure('no'))).toEqual({ completed: [a], lost: [] })
    await session.commit()
    expect((await fixture.page())[0]).toMatchObject({ state: 'failed', attempt: 1 })
  })

  test('loses to whoever takes the task once a savepoint was rolled back to', async () => {
    await fixture.push('a')
    await session.begin()
    await fixture.subject.execute(session.transaction, raw('savepoint here'))
    const batch = await take()
    await fixture.subject.execute(session.transaction, raw('rollback to savepoint here'))
    expect(await complete(batch)).toEqual({ completed: [], lost: batch })
    expect(names(await take())).toEqual(['a'])
    await session.rollback()
  })

  testWhere(engine.writers > 1)('keeps others off, and is never waited for', async () => {
    await fixture.push('a', 'b', 'c')
    const other = await fixture.owner()
    await session.begin()
    const batch = await take(2)
    expect(names(await fixture.poll(10, other))).toEqual(['c'])
    expect(await fixture.poll(10, other)).toEqual([])
    await complete(batch)
    await session.commit()
    expect(await fixture.poll(10, other)).toEqual([])
    expect(await fixture.states()).toEqual({ active: 1, succeeded: 2 })
  })

  testWhere(engine.family === 'postgres')('lets go of what is not completed when it commits', async () => {
    await fixture.push('a')
    await session.begin()
    const batch = await take()
    await session.commit()
    expect(await fixture.complete(batch)).toEqual({ completed: [], lost: batch })
    expect(await fixture.poll()).toMatchObject([{ identifier: 'a', attempt: 1 }])
  })

  test('leaves what is not completed with its owner after the commit, where a poll cannot only lock', async () => {
    const modes: readonly TopicOptions[] = [
      ...(engine.family === 'postgres' ? [] : [{}]),
      { order: 'lifo' },
      { order: 'priority' },
      { condition: 'singular-by-identifier' },
    ]
    for (const mode of modes) {
      await fixture.nextTopic(mode)
      await fixture.push('a')
      await session.begin()
      const batch = await take()
      await session.commit()
      expect(await fixture.page()).toMatchObject([{ state: 'active', owner: fixture.tasks.owner, attempt: 1 }])
      expect(await fixture.poll()).toEqual([])
      expect(await fixture.complete(batch)).toEqual({ completed: batch, lost: [] })
    }
  })

  testWhere(engine.family === 'postgres')('leaves it with its owner, too, if its transaction has written before', async () => {
    await session.begin()
    await fixture.tasks.push(session.transaction, fixture.topic, 'a')
    const batch = await take()
    await session.commit()
    expect(await fixture.page()).toMatchObject([{ state: 'active', attempt: 1 }])
    expect(await fixture.complete(batch)).toEqual({ completed: batch, lost: [] })
  })

  test('is the same under an order and a condition', async () => {
    await fixture.nextTopic({ order: 'lifo', condition: 'singular-by-identifier' })
    await fixture.push('a', 'b', 'a')
    await session.begin()
    const batch = await take()
    expect(names(batch)).toEqual(['a', 'b'])
    await complete(batch)
    await session.commit()
    expect(names(await fixture.poll())).toEqual(['a'])
  })

  test('refuses a word that it does not know', async () => {
    await session.begin()
    await expect(Promise.resolve().then(() => take(1, 'session' as PollHold))).rejects.toThrow(/hold.*lease, transaction/)
    await session.rollback()
  })
})
