/** On MariaDB nothing waits for, or passes over, a row that another statement only reads. */
import type { HeldTask, PushedTask, TaskCreation } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import type { Row } from '@taskstream/task-sql'
import { beforeAll, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { Session } from '../subject.ts'
import { codeOf, openFixture, whileTested } from '@taskstream/task-testing/suite'

describe.skipIf(!canRun)('beside others', () => {
  const fixture = whileTested(() => openFixture(engine))
  let session: Session
  let observer: Session
  beforeAll(async () => {
    session = await fixture.subject.session()
    observer = await fixture.subject.session()
  })

  /** Whether so many transactions wait for a lock, as the server says. */
  const waitingOf = async (count: number): Promise<boolean> => {
    const [row] = await fixture.subject.execute(observer.transaction, raw('show engine innodb status'))
    return String(row?.['Status']).split('LOCK WAIT').length > count
  }

  test('a push of an external id that exists keeps no other push waiting, and none dies of a deadlock', async () => {
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

  test.each(['purge', 'redrive'] as const)('a %s locks no row that it passes, also not for a moment', async (verb) => {
    await fixture.nextTopic()
    const { tasks, topic, subject } = fixture
    await fixture.push(...Array.from({ length: 2_000 }, (_, index) => `t${index}`))
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
    // The server locks some rows of its own, such as those of statistics.
    expect((await requests()) - before).toBeLessThan(1_000)
  })

  test('a heartbeat that is not committed keeps nobody from forgetting dead owners, or from taking a name', async () => {
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

  test('a change of a limit lets pushes go on that it meets', async () => {
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

  test.each(['purgeAll', 'destroy'] as const)(
    '%s waits for no row of another topic, though statistics are stale',
    async (verb) => {
      const { tasks, subject } = fixture
      const ask = (text: string): Promise<readonly Row[]> => subject.execute(observer.transaction, raw(text))
      await ask('delete from task')
      await ask('analyze table task persistent for all')
      await fixture.nextTopic()
      const emptied = fixture.topic
      await fixture.push(...Array.from({ length: 500 }, (_, index) => `t${index}`))
      await fixture.nextTopic()
      await fixture.push('a', 'b', 'c', 'd', 'e')
      await session.begin()
      await tasks.poll(session.transaction, fixture.topic, { size: 1 })
      await fixture.commit((transaction) => tasks[verb](transaction, emptied))
      await session.rollback()
    },
  )

  test('a server that keeps no order is refused, and any mode of its SQL will do', async () => {
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
})
