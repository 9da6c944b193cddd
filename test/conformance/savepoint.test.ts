/** Part of a transaction is rolled back, the rest of it commits: what was done in between never was. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { Session } from '../subject.ts'
import { names, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

describe.skipIf(!canRun)('a savepoint that is rolled back to', () => {
  let it: Fixture
  let session: Session
  beforeAll(async () => {
    it = await openFixture()
    session = await it.subject.session()
  })
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(() => it.nextTopic())

  const undo = async <Result>(work: () => Result | Promise<Result>): Promise<Result> => {
    await it.subject.execute(session.transaction, raw('savepoint here'))
    const result = await work()
    await it.subject.execute(session.transaction, raw('rollback to savepoint here'))
    return result
  }
  const poll = async (size: number): Promise<HeldTask[]> =>
    (await it.tasks.poll(session.transaction, it.topic, { size })) as HeldTask[]

  test('takes back a push, and leaves those before and after it', async () => {
    await session.begin()
    await it.tasks.push(session.transaction, it.topic, 'before')
    await undo(() => it.tasks.push(session.transaction, it.topic, ['never', 'was']))
    await it.tasks.push(session.transaction, it.topic, 'after')
    expect(names(await poll(10))).toEqual(['before', 'after'])
    await session.commit()
    expect(await it.states()).toEqual({ active: 2 })
  })

  test('takes back a poll, whose tasks are there for the next one', async () => {
    await it.push('a', 'b', 'c')
    await session.begin()
    expect(names(await undo(() => poll(2)))).toEqual(['a', 'b'])
    expect(names(await poll(1))).toEqual(['a'])
    expect(names(await undo(() => poll(5)))).toEqual(['b', 'c'])
    await session.commit()
    expect(names(await it.poll())).toEqual(['b', 'c'])
  })

  test('takes back a completion and a hand-back, and the tasks are held as before', async () => {
    await it.push('a', 'b')
    const [a, b] = await it.poll()
    const done = new Map([[a!, TaskDecision.success()]])
    await session.begin()
    await undo(async () => {
      await it.tasks.complete(session.transaction, it.topic, done)
      await it.tasks.handBack(session.transaction, it.topic, [b!])
    })
    expect(await it.tasks.hold(session.transaction, it.topic, [a!, b!])).toEqual({ held: [a, b], lost: [] })
    expect(await it.tasks.complete(session.transaction, it.topic, done)).toEqual({ completed: [a], lost: [] })
    await session.commit()
    expect(await it.states()).toEqual({ active: 1, succeeded: 1 })
  })

  test('takes back an external id, which is free again', async () => {
    const creation = { identifier: 'a', externalId: 'x' }
    await session.begin()
    await undo(() => it.tasks.push(session.transaction, it.topic, creation))
    expect(await it.tasks.push(session.transaction, it.topic, creation)).toMatchObject([{ outcome: 'created' }])
    await session.commit()
    expect(await it.push(creation)).toMatchObject([{ outcome: 'duplicate' }])
  })

  test('loses no task to what polls have learned meanwhile, however many there were', async () => {
    const identifiers = Array.from({ length: 300 }, (_, index) => `t${index}`)
    await it.push(...identifiers)
    const taken: string[] = []
    while (taken.length < identifiers.length) {
      await session.begin()
      await undo(() => poll(7))
      const batch = await poll(5)
      await undo(() => poll(11))
      await session.commit()
      taken.push(...names(batch))
      expect(batch).not.toEqual([])
      await it.commit((transaction) =>
        it.tasks.complete(transaction, it.topic, new Map(batch.map((task) => [task, TaskDecision.success()]))),
      )
    }
    expect(taken).toEqual(identifiers)
  })
})
