/** Rolling back to a savepoint undoes every verb since the savepoint, and the rest of the transaction commits. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { beforeAll, expect, test } from 'vitest'
import { names, useFixture } from './fixture.ts'
import { part } from './engine.ts'
import type { Part, Session } from './engine.ts'

export const savepoint: Part = part('a savepoint that is rolled back to', (engine) => {
  const fixture = useFixture(engine)
  let session: Session
  beforeAll(async () => {
    session = await fixture.subject.session()
  })

  const undo = async <Result>(work: () => Result | Promise<Result>): Promise<Result> => {
    await fixture.subject.execute(session.transaction, raw('savepoint here'))
    const result = await work()
    await fixture.subject.execute(session.transaction, raw('rollback to savepoint here'))
    return result
  }
  const poll = async (size: number): Promise<HeldTask[]> =>
    (await fixture.tasks.poll(session.transaction, fixture.topic, { size })) as HeldTask[]

  test('takes back a push, and leaves those before and after it', async () => {
    await session.begin()
    await fixture.tasks.push(session.transaction, fixture.topic, 'before')
    await undo(() => fixture.tasks.push(session.transaction, fixture.topic, ['never', 'was']))
    await fixture.tasks.push(session.transaction, fixture.topic, 'after')
    expect(names(await poll(10))).toEqual(['before', 'after'])
    await session.commit()
    expect(await fixture.states()).toEqual({ active: 2 })
  })

  test('takes back a poll, whose tasks are there for the next one', async () => {
    await fixture.push('a', 'b', 'c')
    await session.begin()
    expect(names(await undo(() => poll(2)))).toEqual(['a', 'b'])
    expect(names(await poll(1))).toEqual(['a'])
    expect(names(await undo(() => poll(5)))).toEqual(['b', 'c'])
    await session.commit()
    expect(names(await fixture.poll())).toEqual(['b', 'c'])
  })

  test('takes back a completion and a hand-back, and the tasks are held as before', async () => {
    await fixture.push('a', 'b')
    const [a, b] = await fixture.poll()
    const done = new Map([[a!, TaskDecision.success()]])
    await session.begin()
    await undo(async () => {
      await fixture.tasks.complete(session.transaction, fixture.topic, done)
      await fixture.tasks.handBack(session.transaction, fixture.topic, [b!])
    })
    expect(await fixture.tasks.hold(session.transaction, fixture.topic, [a!, b!])).toEqual({ held: [a, b], lost: [] })
    expect(await fixture.tasks.complete(session.transaction, fixture.topic, done)).toEqual({ completed: [a], lost: [] })
    await session.commit()
    expect(await fixture.states()).toEqual({ active: 1, succeeded: 1 })
  })

  test('takes back an external id, which is free again', async () => {
    const creation = { identifier: 'a', externalId: 'x' }
    await session.begin()
    await undo(() => fixture.tasks.push(session.transaction, fixture.topic, creation))
    expect(await fixture.tasks.push(session.transaction, fixture.topic, creation)).toMatchObject([{ outcome: 'created' }])
    await session.commit()
    expect(await fixture.push(creation)).toMatchObject([{ outcome: 'duplicate' }])
  })

  test('loses no task to what polls have learned meanwhile, however many there were', async () => {
    const identifiers = Array.from({ length: 300 }, (_, index) => `t${index}`)
    await fixture.push(...identifiers)
    const taken: string[] = []
    while (taken.length < identifiers.length) {
      await session.begin()
      await undo(() => poll(7))
      const batch = await poll(5)
      await undo(() => poll(11))
      await session.commit()
      taken.push(...names(batch))
      expect(batch).not.toEqual([])
      await fixture.commit((transaction) =>
        fixture.tasks.complete(transaction, fixture.topic, new Map(batch.map((task) => [task, TaskDecision.success()]))),
      )
    }
    expect(taken).toEqual(identifiers)
  })
})
