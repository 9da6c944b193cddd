/** With partitioned tables, making or destroying one topic does not block others, and a statement locks few partitions. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TopicOverview } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { detachPartition } from '@taskstream/task-sql/pg'
import type pg from 'pg'
import { describe, expect } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { Session } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { codeOf, names, openFixture, whileTested } from '@taskstream/task-testing/suite'

describe.skipIf(!canRun)('partitions', () => {
  const fixture = whileTested(() => openFixture(engine))
  const test = testOn(['postgres-partitioned'])
  const client = (session: Session): pg.Client => session.transaction as pg.Client
  const leaf = async (topic: string): Promise<unknown> => {
    const [row] = await fixture.commit((transaction) =>
      fixture.subject.execute(
        transaction,
        sql`select i.inhrelid::text as leaf, i.inhdetachpending as pending from pg_inherits i
             where i.inhrelid = to_regclass('taskstream.task_p_' || md5(${topic}))`,
      ),
    )
    return row
  }
  /** Opens a session whose statements fail instead of waiting for a lock. */
  const impatient = async (): Promise<Session> => {
    const session = await fixture.subject.session()
    await client(session).query(`set lock_timeout = '1s'`)
    return session
  }
  /** Runs a whole life of a task in a topic other than the one that is being made or destroyed. */
  const works = async (topic: string): Promise<void> => {
    const session = await impatient()
    await session.begin()
    await fixture.tasks.push(session.transaction, topic, 'a')
    await session.commit()
    await session.begin()
    const held = (await fixture.tasks.poll(session.transaction, topic, { size: 9 })) as HeldTask[]
    expect(names(held)).toEqual(['a'])
    await fixture.tasks.complete(session.transaction, topic, new Map([[held[0]!, TaskDecision.success()]]))
    await session.commit()
    await session.close()
  }

  test('making and unmaking a topic never blocks push, poll or completion of another', async () => {
    const other = fixture.topic
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    const singular = fixture.topic
    const session = await fixture.subject.session()
    await session.begin()
    await fixture.tasks.initialize(session.transaction, 'in the making')
    await works(other)
    await works(singular)
    await session.commit()
    await fixture.commit((transaction) => fixture.tasks.push(transaction, 'in the making', ['x', 'y']))
    await session.begin()
    await fixture.tasks.destroy(session.transaction, 'in the making')
    await works(other)
    await works(singular)
    await session.commit()
  })

  test('an emptied partition is kept, and taken again when its topic comes back', async () => {
    await fixture.nextTopic()
    await fixture.push('a')
    const before = await leaf(fixture.topic)
    expect(before).toMatchObject({ pending: false })
    await fixture.commit((transaction) => fixture.tasks.destroy(transaction, fixture.topic))
    expect(await leaf(fixture.topic)).toEqual(before)
    await fixture.commit((transaction) => fixture.tasks.initialize(transaction, fixture.topic))
    expect(await leaf(fixture.topic)).toEqual(before)
    expect(await fixture.page()).toEqual([])
    await works(fixture.topic)
  })

  test('a topic whose name looks like SQL has its partition like any other', async () => {
    for (const topic of [`it's`, `a'); drop table taskstream.task; --`, '%L', 'ä"😀', '$$', `\\`]) {
      await fixture.commit((transaction) => fixture.tasks.initialize(transaction, topic))
      await works(topic)
    }
  })

  test('is detached when its topic is destroyed, and not before', async () => {
    await fixture.nextTopic()
    const session = await fixture.subject.session(fixture.subject.owner)
    expect(await codeOf(() => detachPartition(client(session), fixture.topic))).toBe('TOPIC_IN_USE')
    await fixture.commit((transaction) => fixture.tasks.destroy(transaction, fixture.topic))
    expect(await detachPartition(client(session), fixture.topic)).toBe(true)
    expect(await detachPartition(client(session), fixture.topic)).toBe(false)
    expect(await leaf(fixture.topic)).toBeUndefined()
    await fixture.commit((transaction) => fixture.tasks.initialize(transaction, fixture.topic))
    await works(fixture.topic)
    expect(await codeOf(() => detachPartition(client(session), fixture.topic, { schema: 'a"b' }))).toBe('ARGUMENT_INVALID')
  })

  test('detaching survives being killed half way, and hinders nobody meanwhile', async () => {
    const other = fixture.topic
    await fixture.nextTopic()
    await fixture.commit((transaction) => fixture.tasks.destroy(transaction, fixture.topic))
    // A detach waits for transactions that have used the table.
    const reader = await fixture.subject.session()
    await reader.begin()
    await fixture.tasks.page(reader.transaction, other)
    const session = await fixture.subject.session(fixture.subject.owner)
    const [row] = (await client(session).query('select pg_backend_pid() as pid')).rows as { pid: number }[]
    const detached = detachPartition(client(session), fixture.topic).catch((error: unknown) => error)
    await expect.poll(() => leaf(fixture.topic)).toMatchObject({ pending: true })
    await works(other)
    await fixture.commit((transaction) =>
      fixture.subject.execute(transaction, raw(`select pg_terminate_backend(${Number(row!.pid)}, 5000)`)),
    )
    expect(await detached).toBeInstanceOf(Error)
    await reader.commit()
    expect(await leaf(fixture.topic)).toMatchObject({ pending: true })
    await works(other)
    const initialize = (): Promise<unknown> =>
      codeOf(() => fixture.commit((transaction) => fixture.tasks.initialize(transaction, fixture.topic)))
    expect(await initialize()).toBe('PARTITION_DETACHING')
    const again = await fixture.subject.session(fixture.subject.owner)
    // PostgreSQL refuses a second detachment as long as one is pending, of whatever topic.
    const third = 'another-destroyed'
    await fixture.commit((transaction) => fixture.tasks.initialize(transaction, third))
    await fixture.commit((transaction) => fixture.tasks.destroy(transaction, third))
    expect(await detachPartition(client(again), third)).toBe(true)
    expect(await detachPartition(client(again), fixture.topic)).toBe(true)
    expect(await detachPartition(client(again), fixture.topic)).toBe(false)
    expect(await initialize()).toBe(true)
    await works(fixture.topic)
  })

  test('a thousand topics: each works, and what looks at all of them does', async () => {
    const topics = Array.from({ length: 1_000 }, (_, index) => `many-${index}`)
    for (let from = 0; from < topics.length; from += 50) {
      await fixture.commit(async (transaction) => {
        for (const topic of topics.slice(from, from + 50)) await fixture.tasks.initialize(transaction, topic)
      })
    }
    for (const topic of ['many-0', 'many-500', 'many-999']) await works(topic)
    const session = await fixture.subject.session()
    await session.begin()
    await fixture.tasks.push(session.transaction, 'many-7', 'a')
    const held = (await fixture.tasks.poll(session.transaction, 'many-7', { size: 1 })) as HeldTask[]
    await fixture.tasks.complete(session.transaction, 'many-7', new Map([[held[0]!, TaskDecision.success()]]))
    const { rows } = await client(session).query(
      `select count(distinct l.relation)::int as count from pg_locks l
         join pg_class c on c.oid = l.relation and c.relname like 'task_p_%'
        where l.pid = pg_backend_pid()`,
    )
    await session.commit()
    // The statement locks the topic's partition and its indexes, and not those of a thousand others.
    const { count } = rows[0] as { count: number }
    expect(count).toBeGreaterThan(0)
    expect(count).toBeLessThan(12)
    expect(await fixture.commit((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 60_000 }))).toMatchObject({
      expired: 0,
    })
    const overview = await fixture.commit<TopicOverview[]>((transaction) => fixture.tasks.overview(transaction))
    expect(overview.length).toBeGreaterThan(1_000)
  })
})
