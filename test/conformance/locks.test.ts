/** On MariaDB and MySQL a verb locks only the rows that it takes. Other transactions would pass over rows that are locked needlessly. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TopicOptions } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { Session } from '../subject.ts'
import { codeOf, openFixture, whileTested } from '@taskstream/task-testing/suite'

describe.skipIf(!canRun)('what is locked', () => {
  const fixture = whileTested(() => openFixture(engine))
  let session: Session
  let observer: Session
  beforeAll(async () => {
    session = await fixture.subject.session()
    observer = await fixture.subject.session()
  })

  /** Returns the identifiers of all tasks, of every topic, that another transaction has locked. */
  const locked = async (): Promise<string[]> => {
    const all = await fixture.commit((transaction) => fixture.subject.execute(transaction, raw('select identifier from task')))
    const free = await fixture.commit((transaction) =>
      fixture.subject.execute(transaction, raw('select identifier from task force index (primary) for update skip locked')),
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
  /** Returns how many rows and index entries a transaction has locked, as the server says. */
  const locks = async (verb: (transaction: Session['transaction']) => unknown): Promise<number> => {
    await session.begin()
    const [own] = await fixture.subject.execute(session.transaction, raw('select connection_id() as id'))
    await verb(session.transaction)
    const [row] = await fixture.subject.execute(observer.transaction, raw('show engine innodb status'))
    await session.rollback()
    const [, ...transactions] = String(row?.['Status']).split('---TRANSACTION ')
    const told = transactions.find((one) => one.includes(` thread id ${String(own?.['id'])},`)) ?? ''
    return Number(/(\d+) row lock\(s\)/.exec(told)?.[1] ?? 0)
  }
  const success = (batch: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
    new Map(batch.map((task) => [task, TaskDecision.success()]))

  /** Fills a topic with a finished, an active, a suspended, a waiting and a late task around its ready ones, and makes neighbouring topics. */
  const fill = async (options: TopicOptions): Promise<void> => {
    await fixture.commit((transaction) => fixture.subject.execute(transaction, raw('delete from task')))
    const { topic } = fixture
    for (const name of [`${topic}-before`, topic, `${topic}z-after`]) {
      await fixture.commit(async (transaction) => {
        await fixture.tasks.initialize(transaction, name, options)
        const of = (identifier: string): string => (name === topic ? identifier : `${name} ${identifier}`)
        await fixture.tasks.push(transaction, name, [
          of('finished'),
          of('active'),
          of('ready 1'),
          { identifier: of('suspended'), suspended: true },
          { identifier: of('waiting'), delayMs: 1_000_000 },
          of('ready 2'),
          of('ready 3'),
        ])
      })
      const finished = await fixture.commit<HeldTask[]>((transaction) => fixture.tasks.poll(transaction, name, { size: 1 }))
      await fixture.commit((transaction) => fixture.tasks.complete(transaction, name, success(finished)))
      await fixture.commit((transaction) => fixture.tasks.poll(transaction, name, { size: 1 }))
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
      await fixture.nextTopic(options)
      await fill(options)
    })

    test('by a poll is what it returns, and no more when it looks for more', async () => {
      let returned: string[] = []
      for (const size of [1, 2, 100]) {
        const held = await during(async (transaction) => {
          const batch = (await fixture.tasks.poll(transaction, fixture.topic, { size })) as HeldTask[]
          returned = batch.map(({ identifier }) => identifier).toSorted()
          expect(batch.length).toBeGreaterThan(0)
        })
        expect(held).toEqual(returned)
      }
    })

    test('by a poll that finds nothing is nothing, in no index', async () => {
      let found: readonly HeldTask[] = []
      const poll = async (transaction: Session['transaction']): Promise<void> => {
        found = (await fixture.tasks.poll(transaction, fixture.topic, { size: 100 })) as HeldTask[]
      }
      // The server tells of the locks of a poll that finds something.
      expect(await locks(poll)).toBeGreaterThan(0)
      expect(found.length).toBeGreaterThan(0)
      await fixture.poll(100)
      expect(await locks(poll)).toBe(0)
      expect(found).toEqual([])
    })

    test('by a completion, a hold or a handing back of tasks that are lost is nothing', async () => {
      const batch = await fixture.poll(2)
      await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, batch))
      expect(await during((transaction) => fixture.tasks.complete(transaction, fixture.topic, success(batch)))).toEqual([])
      expect(
        await during((transaction) => fixture.tasks.complete(transaction, fixture.topic, success(batch.slice(0, 1)))),
      ).toEqual([])
      expect(await during((transaction) => fixture.tasks.hold(transaction, fixture.topic, batch))).toEqual([])
      expect(await during((transaction) => fixture.tasks.handBack(transaction, fixture.topic, batch))).toEqual([])
    })

    test('by a push is nothing that was there', async () => {
      expect(await during((transaction) => fixture.tasks.push(transaction, fixture.topic, ['ready 1', 'newer']))).toEqual([])
    })

    test('by a release that finds nothing due is nothing', async () => {
      expect(await during((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))).toEqual([])
    })
  })

  test('by a push with external ids that exist are their tasks alone', async () => {
    await fixture.nextTopic()
    await fixture.commit((transaction) => fixture.subject.execute(transaction, raw('delete from task')))
    const named = Array.from({ length: 5 }, (_, index) => ({ identifier: `t${index}`, externalId: `x${index}` }))
    await fixture.push(...named)
    // The statement of one external id may have a plan of its own.
    for (const again of [named.slice(2, 3), named.slice(1, 3)]) {
      const identifiers = again.map(({ identifier }) => identifier)
      const held = await during(async (transaction) => {
        const pushed = await fixture.tasks.push(transaction, fixture.topic, again)
        expect(pushed).toMatchObject(identifiers.map((identifier) => ({ identifier, outcome: 'duplicate' })))
      })
      expect(held).toEqual(identifiers)
    }
  })

  test('by superseding is what is superseded', async () => {
    await fixture.nextTopic({ keyed: true })
    await fixture.commit((transaction) => fixture.subject.execute(transaction, raw('delete from task')))
    await fixture.push('a', 'b', 'c', 'b')
    const [active] = await fixture.poll(1)
    expect(active).toMatchObject({ identifier: 'a' })
    const held = await during(async (transaction) => {
      await fixture.tasks.push(transaction, fixture.topic, ['a', 'b'], { insertion: 'supersede' })
      // The active task is not locked, so its owner can complete it meanwhile.
      expect(await fixture.commit((other) => fixture.tasks.complete(other, fixture.topic, success([active!])))).toMatchObject({
        lost: [],
      })
    })
    expect(held).toEqual(['b', 'b'])
  })

  describe('at REPEATABLE READ, with a view from before', () => {
    const begin = async (): Promise<void> => {
      await fixture.subject.execute(session.transaction, raw('set transaction isolation level repeatable read'))
      await fixture.subject.execute(session.transaction, raw('start transaction'))
      await fixture.subject.execute(session.transaction, raw('select count(*) from task'))
    }

    test('a poll takes what was pushed since, and completes it', async () => {
      await fixture.nextTopic()
      await begin()
      await fixture.push('a', 'b')
      const batch = (await fixture.tasks.poll(session.transaction, fixture.topic, { size: 10 })) as HeldTask[]
      expect(batch.map(({ identifier }) => identifier)).toEqual(['a', 'b'])
      expect(await fixture.tasks.complete(session.transaction, fixture.topic, success(batch))).toMatchObject({ lost: [] })
      await session.commit()
      expect(await fixture.states()).toEqual({ succeeded: 2 })
    })

    test('a push whose external id a rival has pushed since is a duplicate', async () => {
      await fixture.nextTopic()
      await begin()
      const [first] = await fixture.push({ identifier: 'a', externalId: 'once' })
      const again = await fixture.tasks.push(session.transaction, fixture.topic, { identifier: 'a', externalId: 'once' })
      expect(again).toEqual([{ ...first, outcome: 'duplicate' }])
      await session.commit()
    })

    test('a poll under a condition says that it cannot see what another has taken, and takes nothing', async () => {
      await fixture.nextTopic({ condition: 'singular-by-identifier' })
      await fixture.push('a', 'a', 'b')
      await begin()
      expect(await fixture.poll(1)).toMatchObject([{ identifier: 'a' }])
      expect(await codeOf(() => fixture.tasks.poll(session.transaction, fixture.topic, { size: 10 }))).toBe(
        'ISOLATION_UNSUPPORTED',
      )
      await session.rollback()
      expect(await fixture.states()).toEqual({ active: 1, ready: 2 })
    })

    test('a poll under a condition is right where nobody has taken anything since', async () => {
      await fixture.nextTopic({ condition: 'singular-by-identifier' })
      await fixture.push('a', 'a', 'b')
      await begin()
      const batch = (await fixture.tasks.poll(session.transaction, fixture.topic, { size: 10 })) as HeldTask[]
      expect(batch.map(({ identifier }) => identifier).toSorted()).toEqual(['a', 'b'])
      await session.commit()
    })
  })
})
