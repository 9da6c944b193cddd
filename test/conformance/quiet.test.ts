/** Fast-path claims: polls of a quiet topic run fewer statements, and still find every task. */
import type { Expiry, TaskInfo } from '@taskstream/task-api'
import { raw, sql, sqlTaskRepository } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { fromPg, postgres } from '@taskstream/task-sql/pg'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, subjectName, engine } from '../subject.ts'
import type { Session, Tasks } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { codeOf, names, useFixture } from '@taskstream/task-testing/suite'

describe.skipIf(!canRun)('a quiet topic', () => {
  const fixture = useFixture(engine)
  let owner: Tasks
  let session: Session
  beforeAll(async () => {
    session = await fixture.subject.session()
  })
  beforeEach(async () => {
    owner = await fixture.owner()
    await quieten()
  })

  /** Pushes, polls and completes a task, until a poll finds nothing. */
  const quieten = async (): Promise<void> => {
    await fixture.push('before')
    await fixture.complete(await fixture.poll(1, owner), undefined, owner)
    expect(await fixture.poll(1, owner)).toEqual([])
  }

  const run = (statement: Statement): Promise<unknown> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, statement))
  const move = (by: number): Promise<unknown> =>
    run(sql`select setval('taskstream.task_sequence', (select last_value + ${by}::int8 from taskstream.task_sequence))`)
  /** Expires the owner. @returns how many tasks it had */
  const expired = async (): Promise<number> => {
    await fixture.commit((transaction) => owner.unregister(transaction))
    const options = { olderThanMs: 86_400_000, then: 'ready' } as const
    return (await fixture.commit<Expiry>((transaction) => fixture.tasks.expire(transaction, options))).ready
  }

  /** Opens a repository that has learned nothing yet. */
  const anotherProcess = async (): Promise<Tasks> => {
    const dialect = postgres({ partitioned: subjectName === 'postgres-partitioned' })
    const tasks = sqlTaskRepository({ dialect, adapter: fromPg }) as Tasks
    await fixture.commit((transaction) => tasks.register(transaction))
    return tasks
  }

  test('gives its tasks one by one, in order', async () => {
    for (const identifier of ['a', 'b', 'c']) {
      await fixture.push(identifier)
      const held = await fixture.poll(1, owner)
      expect(held).toMatchObject([{ identifier, attempt: 1, tries: 1 }])
      expect(await fixture.complete(held, undefined, owner)).toMatchObject({ completed: { length: 1 } })
      expect(await fixture.poll(1, owner)).toEqual([])
    }
  })

  test('gives nothing to an owner that was removed', async () => {
    await fixture.push('a')
    await fixture.commit((transaction) => owner.unregister(transaction))
    expect(await codeOf(() => fixture.poll(1, owner))).toBe('OWNER_UNKNOWN')
    expect(names(await fixture.poll(1))).toEqual(['a'])
  })

  test('gives first what was handed back, and what is overdue', async () => {
    await fixture.push({ identifier: 'overdue', due: new Date(0) }, 'a')
    const [a] = await fixture.poll(1)
    expect(a).toMatchObject({ identifier: 'a' })
    // The polls of the owner pass both: one is suspended until `promoteDue`, and the other is held.
    await quieten()
    await fixture.push('b')
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [a!]))
    await fixture.commit((transaction) => fixture.tasks.promoteDue(transaction, fixture.topic))
    expect(names(await fixture.poll(1, owner))).toEqual(['overdue'])
    expect(names(await fixture.poll(1, owner))).toEqual(['a'])
    expect(names(await fixture.poll(1, owner))).toEqual(['b'])
  })

  testOn(['postgres'])('passes over what another is taking', async () => {
    await fixture.push('a', 'b')
    await session.begin()
    expect(names(await (await anotherProcess()).poll(session.transaction, fixture.topic))).toEqual(['a'])
    expect(names(await fixture.poll(10, owner))).toEqual(['b'])
    await session.rollback()
    expect(names(await fixture.poll(10, owner))).toEqual(['a'])
  })

  test('is a new one when it was initialised again', async () => {
    await fixture.commit((transaction) => fixture.tasks.destroy(transaction, fixture.topic))
    expect(await codeOf(() => fixture.poll(1, owner))).toBe('TOPIC_UNKNOWN')
    await fixture.commit((transaction) => fixture.tasks.initialize(transaction, fixture.topic, { order: 'lifo' }))
    await fixture.push('a', 'b')
    expect(names(await fixture.poll(1, owner))).toEqual(['b'])
  })

  test('finds what a poll took when its owner is dead, though its note was tidied away before', async () => {
    await run(sql`delete from taskstream.task_holding where owner = ${owner.owner}`)
    await fixture.push('a')
    expect(names(await fixture.poll(1, owner))).toEqual(['a'])
    expect(await expired()).toBe(1)
  })

  test('gives what was pushed after somebody has set the sequence back', async () => {
    await move(100)
    await fixture.nextTopic()
    await quieten()
    await fixture.commit((transaction) => fixture.tasks.purge(transaction, fixture.topic))
    await move(-50)
    await fixture.push('a')
    expect(names(await fixture.poll(1, owner))).toEqual(['a'])
  })

  test('finds what a poll took when its owner is dead, though others have drawn many sequences before it', async () => {
    await move(8192)
    await fixture.push('a')
    expect(names(await fixture.poll(1, owner))).toEqual(['a'])
    expect(await expired()).toBe(1)
  })

  testOn(['postgres'])(
    'finds what a poll took when its owner is dead, though it was locked while many later ones were drawn',
    async () => {
      // This owner has polled nothing yet.
      owner = await fixture.owner()
      await fixture.push('a')
      const lock = async (): Promise<void> => {
        await session.begin()
        const row = sql`select identifier from taskstream.task where topic = ${fixture.topic} and identifier = 'a' for update`
        await fixture.subject.execute(session.transaction, row)
      }
      await lock()
      await move(8192)
      await fixture.push('b')
      expect(names(await fixture.poll(1, owner))).toEqual(['b'])
      // A later lock is not that of a pusher, for whom the low watermark would have to wait.
      await session.rollback()
      await lock()
      expect(await fixture.poll(1, owner)).toEqual([])
      await session.rollback()
      expect(names(await fixture.poll(1, owner))).toEqual(['a'])
      expect(await expired()).toBe(2)
    },
  )

  test('is only locked by a poll for its transaction', async () => {
    // A poll that learns has asked the session about its server.
    await fixture.push('first')
    expect(names(await owner.poll(session.transaction, fixture.topic))).toEqual(['first'])
    expect(await owner.poll(session.transaction, fixture.topic)).toEqual([])
    await fixture.push('a')
    await session.begin()
    expect(names(await owner.poll(session.transaction, fixture.topic, { hold: 'transaction' }))).toEqual(['a'])
    const page = (await fixture.tasks.page(session.transaction, fixture.topic, { identifier: 'a' })) as TaskInfo[]
    expect(page.map(({ state }) => state)).toEqual(['ready'])
    await session.rollback()
  })

  test('is polled without learning anything, so many times; each task counts as a poll', async () => {
    const learns: boolean[] = []
    const watched = fixture.subject.tasks({
      adapt: (adapter) => ({
        ...adapter,
        execute: (transaction, statement, plan) => {
          const text = statement.texts.join('')
          if (text.includes('start as materialized')) learns.push(text.includes(' as status'))
          return adapter.execute(transaction, statement, plan)
        },
      }),
    })
    await fixture.commit((transaction) => watched.register(transaction))
    /** Polls until a poll learns something. @returns how many polls before it learned nothing */
    const untilOneLearns = async (identifiers: readonly string[]): Promise<number> => {
      await fixture.push('before')
      await fixture.complete(await fixture.poll(1, watched), undefined, watched)
      expect(await fixture.poll(1, watched)).toEqual([])
      for (learns.length = 0; !learns.includes(true) && learns.length < 100;) {
        await fixture.push(...identifiers)
        const batch = await fixture.poll(10, watched)
        expect(names(batch)).toEqual(identifiers)
        await fixture.complete(batch, undefined, watched)
      }
      return learns.length - 1
    }
    // Each poll learns while transactions of others are open that were open at its beginning.
    const waiting = { interval: 1, timeout: 60_000 }
    await expect.poll(() => untilOneLearns([]), waiting).toBe(32)
    await expect.poll(() => untilOneLearns(['a']), waiting).toBe(16)
    await expect.poll(() => untilOneLearns(['a', 'b', 'c']), waiting).toBe(8)
  }, 200_000)

  test('gives no task twice in a transaction, whichever repository asks', async () => {
    await fixture.push('a', 'b')
    const another = await anotherProcess()
    await session.begin()
    expect(names(await another.poll(session.transaction, fixture.topic, { hold: 'transaction' }))).toEqual(['a'])
    expect(names(await owner.poll(session.transaction, fixture.topic, { size: 10 }))).toEqual(['b'])
    await session.rollback()
  })

  // PostgreSQL 15 reads more to complete (docs/decisions/plans.md).
  if (subjectName === 'postgres-18')
    test('is read no further back than a few tasks, however many are done', async () => {
      const read = async (): Promise<number> => {
        // PostgreSQL counts the reads of a transaction after its end.
        await fixture.commit((transaction) =>
          fixture.subject.execute(transaction, raw('select pg_stat_force_next_flush()::text as flushed')),
        )
        const sum = `select idx_tup_read as count from pg_stat_user_indexes where indexrelname = 'task_pkey'`
        const [row] = await fixture.commit((transaction) => fixture.subject.execute(transaction, raw(sum)))
        return Number(row?.['count'])
      }
      const readOfEach = async (): Promise<number> => {
        const before = await read()
        for (let cycle = 0; cycle < 300; cycle++) await quieten()
        const each = ((await read()) - before) / 300
        expect(each).toBeGreaterThan(1)
        return each
      }
      // Polls read further back while another test of this server keeps a transaction open.
      await expect.poll(readOfEach, { interval: 1, timeout: 120_000 }).toBeLessThan(60)
    }, 200_000)
})
