/** On MariaDB and MySQL a verb locks only the rows that it takes. Other transactions would pass over rows that are locked needlessly. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, PushedTask, TaskCreation, TopicOptions } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import type { Row } from '@taskstream/task-sql'
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
  /** Whether so many transactions wait for a lock, as the server says. */
  const waitingOf = async (count: number): Promise<boolean> => {
    const [row] = await fixture.subject.execute(observer.transaction, raw('show engine innodb status'))
    return String(row?.['Status']).split('LOCK WAIT').length > count
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

  test('by a push with an external id that exists keeps no other push waiting, and none dies of a deadlock', async () => {
    await fixture.nextTopic()
    const { tasks, topic } = fixture
    await fixture.push({ identifier: 'a', externalId: 'b' }, { identifier: 'b', externalId: 'd' })
    const other = await fixture.subject.session()
    const push = async ({ transaction }: Session, creation: string | TaskCreation): Promise<unknown> =>
      ((await tasks.push(transaction, topic, creation)) as PushedTask[])[0]!.outcome
    await session.begin()
    await other.begin()
    const again = [
      await push(session, { identifier: 'a', externalId: 'b' }),
      await push(other, { identifier: 'b', externalId: 'd' }),
    ]
    const besides = [
      await push(session, 'plain'),
      await push(other, 'plain'),
      await push(other, { identifier: 'c', externalId: 'a' }),
      await push(session, { identifier: 'c', externalId: 'c' }),
    ]
    expect([again, besides]).toEqual([
      ['duplicate', 'duplicate'],
      ['created', 'created', 'created', 'created'],
    ])
    await session.commit()
    await other.commit()
  })

  test.each(['purge', 'redrive'] as const)('by a %s is no row that it passes, also not for a moment', async (verb) => {
    await fixture.nextTopic()
    const { tasks, topic, subject } = fixture
    await fixture.push(...Array.from({ length: 300 }, (_, index) => `t${index}`))
    const ask = (text: string): Promise<readonly Row[]> => subject.execute(observer.transaction, raw(text))
    await ask("set global innodb_monitor_enable = 'lock_rec_lock_requests'")
    const requests = async (): Promise<number> =>
      Number(
        (await ask("select count from information_schema.innodb_metrics where name = 'lock_rec_lock_requests'"))[0]!['count'],
      )
    const before = await requests()
    await fixture.commit((transaction) =>
      verb === 'purge' ? tasks.purge(transaction, topic, { states: ['succeeded'] }) : tasks.redrive(transaction, topic),
    )
    expect((await requests()) - before).toBeLessThan(100)
  })

  test('by a heartbeat that is not committed keeps nobody from forgetting dead owners, or from taking a name', async () => {
    const [one, other] = [await fixture.owner(), await fixture.owner()]
    await session.begin()
    await one.heartbeat(session.transaction)
    expect(await fixture.commit((transaction) => other.purgeOwners(transaction, 1_000_000))).toBe(0)
    const named = fixture.subject.tasks({ owner: 'alone' })
    await fixture.commit((transaction) => named.register(transaction, { exclusive: true }))
    expect(await fixture.commit((transaction) => other.owners(transaction, 1_000))).toContainEqual(
      expect.objectContaining({ owner: one.owner }),
    )
    await session.commit()
  })

  test('by a change of a limit lets pushes go on that it meets', async () => {
    await fixture.nextTopic()
    const { tasks, topic, subject } = fixture
    const limit = (count: number) => async (transaction: Session['transaction']) =>
      void (await tasks.limit(transaction, topic, { maxEntries: { count } }))
    await fixture.commit(limit(10))
    const [changing, pushing] = [await subject.session(), await subject.session()]
    await session.begin()
    await tasks.admit(session.transaction, topic, 1)
    await changing.begin()
    const changed = limit(20)(changing.transaction).then(() => changing.commit())
    await expect.poll(() => waitingOf(1), { interval: 150 }).toBe(true)
    await pushing.begin()
    const pushed = Promise.resolve(tasks.admit(pushing.transaction, topic, 1)).then(() => pushing.commit())
    await expect.poll(() => waitingOf(2), { interval: 150 }).toBe(true)
    await session.commit()
    await Promise.all([changed, pushed])
    expect(await fixture.commit((transaction) => tasks.limits(transaction))).toEqual(
      new Map([[topic, { maxEntries: { count: 20, whenFull: 'reject' } }]]),
    )
  })

  test('by a purge of all tasks of a topic, or its destruction, is no row of another, though statistics are stale', async () => {
    await fixture.nextTopic()
    const { tasks, topic, subject } = fixture
    const ask = (text: string): Promise<readonly Row[]> => subject.execute(observer.transaction, raw(text))
    await ask('delete from task')
    await ask('analyze table task persistent for all')
    await fixture.push(...Array.from({ length: 30 }, (_, index) => `t${index}`))
    for (const verb of ['purgeAll', 'destroy'] as const) {
      const another = `${verb} ${topic}`
      await fixture.commit((transaction) => tasks.initialize(transaction, another))
      await fixture.commit((transaction) => tasks.push(transaction, another, ['a', 'b']))
      await session.begin()
      await tasks.poll(session.transaction, topic, { size: 30 })
      await fixture.commit((transaction) => tasks[verb](transaction, another))
      await session.rollback()
    }
  })

  test('in an order that a server does not keep is refused, and any mode of its SQL will do', async () => {
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    const { tasks, topic, subject } = fixture
    await fixture.push('a', 'b')
    await session.begin()
    await subject.execute(session.transaction, raw("set session sql_mode = 'ONLY_FULL_GROUP_BY'"))
    expect(await tasks.count(session.transaction, { topic })).toEqual(
      new Map([[topic, new Map([['ready', { count: 2, bound: expect.any(Number) }]])]]),
    )
    const poll = async (): Promise<readonly HeldTask[]> =>
      (await tasks.poll(session.transaction, topic, { size: 10 })) as HeldTask[]
    await subject.execute(session.transaction, raw('set session collation_connection = utf8mb4_general_ci'))
    expect((await poll()).map(({ identifier }) => identifier)).toEqual(['a', 'b'])
    await subject.execute(session.transaction, raw('set session join_cache_level = 4'))
    expect(await codeOf(() => tasks.register(session.transaction))).toBe('RUNTIME_UNSUPPORTED')
    await subject.execute(
      session.transaction,
      raw('set session join_cache_level = default, sql_mode = default, collation_connection = default'),
    )
    await session.rollback()
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
