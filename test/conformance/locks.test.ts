/** On MariaDB and MySQL a verb locks the rows that it takes, and no others: what is locked for nothing, others pass over. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TopicOptions } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { Session } from '../subject.ts'
import { codeOf, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

describe.skipIf(!canRun)('what is locked', () => {
  let it: Fixture
  let session: Session
  beforeAll(async () => {
    it = await openFixture()
    session = await it.subject.session()
  })
  afterAll(() => it[Symbol.asyncDispose]())

  /** Identifiers of the tasks of all topics that others can lock no more. */
  const locked = async (): Promise<string[]> => {
    const all = await it.commit((transaction) => it.subject.execute(transaction, raw('select identifier from task')))
    const free = await it.commit((transaction) =>
      it.subject.execute(transaction, raw('select identifier from task force index (primary) for update skip locked')),
    )
    const left = new Set(free.map(({ identifier }) => String(identifier)))
    return all.flatMap(({ identifier }) => (left.has(String(identifier)) ? [] : [String(identifier)])).toSorted()
  }
  const during = async (verb: (transaction: Session['transaction']) => unknown): Promise<string[]> => {
    await session.begin()
    await verb(session.transaction)
    const held = await locked()
    await session.rollback()
    return held
  }
  const success = (batch: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
    new Map(batch.map((task) => [task, TaskDecision.success()]))

  /** A topic with a finished, an active, a suspended, a waiting and a late task around its ready ones; and neighbours on both sides. */
  const fill = async (options: TopicOptions): Promise<void> => {
    await it.commit((transaction) => it.subject.execute(transaction, raw('delete from task')))
    const { topic } = it
    for (const name of [`${topic}-before`, topic, `${topic}z-after`]) {
      await it.commit(async (transaction) => {
        await it.tasks.initialize(transaction, name, options)
        const of = (identifier: string): string => (name === topic ? identifier : `${name} ${identifier}`)
        await it.tasks.push(transaction, name, [
          of('finished'),
          of('active'),
          of('ready 1'),
          { identifier: of('suspended'), suspended: true },
          { identifier: of('waiting'), delayMs: 1_000_000 },
          of('ready 2'),
          of('ready 3'),
        ])
      })
      const finished = await it.commit<HeldTask[]>((transaction) => it.tasks.poll(transaction, name, { size: 1 }))
      await it.commit((transaction) => it.tasks.complete(transaction, name, success(finished)))
      await it.commit((transaction) => it.tasks.poll(transaction, name, { size: 1 }))
    }
  }

  describe.each([
    { order: 'fifo' },
    { order: 'lifo' },
    { order: 'priority' },
    { condition: 'singular-by-identifier' },
    { order: 'lifo', condition: 'singular-by-identifier' },
  ] as const)('in a topic of %o', (options) => {
    beforeEach(async () => {
      await it.nextTopic(options)
      await fill(options)
    })

    test('by a poll is what it returns, and no more when it looks for more', async () => {
      let returned: string[] = []
      for (const size of [1, 2, 100]) {
        const held = await during(async (transaction) => {
          const batch = (await it.tasks.poll(transaction, it.topic, { size })) as HeldTask[]
          returned = batch.map(({ identifier }) => identifier).toSorted()
          expect(batch.length).toBeGreaterThan(0)
        })
        expect(held).toEqual(returned)
      }
    })

    test('by a completion, a hold or a handing back of tasks that are lost is nothing', async () => {
      const batch = await it.poll(2)
      await it.commit((transaction) => it.tasks.handBack(transaction, it.topic, batch))
      expect(await during((transaction) => it.tasks.complete(transaction, it.topic, success(batch)))).toEqual([])
      expect(await during((transaction) => it.tasks.complete(transaction, it.topic, success(batch.slice(0, 1))))).toEqual([])
      expect(await during((transaction) => it.tasks.hold(transaction, it.topic, batch))).toEqual([])
      expect(await during((transaction) => it.tasks.handBack(transaction, it.topic, batch))).toEqual([])
    })

    test('by a push is nothing that was there', async () => {
      expect(await during((transaction) => it.tasks.push(transaction, it.topic, ['ready 1', 'newer']))).toEqual([])
    })

    test('by a release that finds nothing due is nothing', async () => {
      expect(await during((transaction) => it.tasks.release(transaction, it.topic))).toEqual([])
    })
  })

  test('by superseding is what is superseded', async () => {
    await it.nextTopic({ keyed: true })
    await it.commit((transaction) => it.subject.execute(transaction, raw('delete from task')))
    await it.push('a', 'b', 'c', 'b')
    const [active] = await it.poll(1)
    expect(active).toMatchObject({ identifier: 'a' })
    const held = await during(async (transaction) => {
      await it.tasks.push(transaction, it.topic, ['a', 'b'], { insertion: 'supersede' })
      // The active one is its owner's, who can complete it meanwhile.
      expect(await it.commit((other) => it.tasks.complete(other, it.topic, success([active!])))).toMatchObject({ lost: [] })
    })
    expect(held).toEqual(['b', 'b'])
  })

  describe('at REPEATABLE READ, with a view from before', () => {
    const begin = async (): Promise<void> => {
      await it.subject.execute(session.transaction, raw('set transaction isolation level repeatable read'))
      await it.subject.execute(session.transaction, raw('start transaction'))
      await it.subject.execute(session.transaction, raw('select count(*) from task'))
    }

    test('a poll takes what was pushed since, and completes it', async () => {
      await it.nextTopic()
      await begin()
      await it.push('a', 'b')
      const batch = (await it.tasks.poll(session.transaction, it.topic, { size: 10 })) as HeldTask[]
      expect(batch.map(({ identifier }) => identifier)).toEqual(['a', 'b'])
      expect(await it.tasks.complete(session.transaction, it.topic, success(batch))).toMatchObject({ lost: [] })
      await session.commit()
      expect(await it.states()).toEqual({ succeeded: 2 })
    })

    test('a push whose external id a rival has pushed since is a duplicate', async () => {
      await it.nextTopic()
      await begin()
      const [first] = await it.push({ identifier: 'a', externalId: 'once' })
      const again = await it.tasks.push(session.transaction, it.topic, { identifier: 'a', externalId: 'once' })
      expect(again).toEqual([{ ...first, outcome: 'duplicate' }])
      await session.commit()
    })

    test('a poll under a condition says that it cannot see what another has taken, and takes nothing', async () => {
      await it.nextTopic({ condition: 'singular-by-identifier' })
      await it.push('a', 'a', 'b')
      await begin()
      expect(await it.poll(1)).toMatchObject([{ identifier: 'a' }])
      expect(await codeOf(() => it.tasks.poll(session.transaction, it.topic, { size: 10 }))).toBe('ISOLATION_UNSUPPORTED')
      await session.rollback()
      expect(await it.states()).toEqual({ active: 1, ready: 2 })
    })

    test('a poll under a condition is right where nobody has taken anything since', async () => {
      await it.nextTopic({ condition: 'singular-by-identifier' })
      await it.push('a', 'a', 'b')
      await begin()
      const batch = (await it.tasks.poll(session.transaction, it.topic, { size: 10 })) as HeldTask[]
      expect(batch.map(({ identifier }) => identifier).toSorted()).toEqual(['a', 'b'])
      await session.commit()
    })
  })
})
