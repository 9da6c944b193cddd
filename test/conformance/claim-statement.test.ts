/** What polls of a plain topic learn on PostgreSQL: how far everything is done, what was handed back, and what others have locked. */
import { TaskDecision } from '@taskstream/task-api'
import type { Expiry, HeldTask } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { codeOf, names, useFixture } from '@taskstream/task-testing/suite'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { Session, Tasks } from '../subject.ts'
import { testOn } from '../test-on.ts'

describe.skipIf(!canRun)('a poll of a plain topic', () => {
  const fixture = useFixture(engine)
  let session: Session
  let owner: Tasks
  /** The reports of the claims that learned something. */
  const reports: { readonly floor: number; readonly high: number; readonly taken: number }[] = []
  beforeAll(async () => {
    session = await fixture.subject.session()
  })
  beforeEach(async () => {
    owner = await process()
    reports.length = 0
  })

  /** A repository that has learned nothing yet. */
  async function process(): Promise<Tasks> {
    const tasks = fixture.subject.tasks({
      adapt: (adapter) => ({
        ...adapter,
        execute: async (transaction, statement, plan) => {
          const rows = await adapter.execute(transaction, statement, plan)
          const status = rows.find((row) => typeof row['status'] === 'string')?.['status']
          if (status !== undefined) {
            const words = String(status).split(' ')
            reports.push({ floor: Number(words[5]), high: Number(words[6]), taken: Number(words[12]) })
          }
          return rows
        },
      }),
    })
    await fixture.commit((transaction) => tasks.register(transaction))
    return tasks
  }
  const run = (statement: Statement): ReturnType<typeof fixture.subject.execute> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, statement))
  /** Whoever waits for a lock here fails. */
  const poll = (size = 10): Promise<HeldTask[]> =>
    fixture.commit<HeldTask[]>(async (transaction) => {
      await fixture.subject.execute(transaction, raw("set local lock_timeout = '2s'"))
      return owner.poll(transaction, fixture.topic, { size })
    })
  const pushed = async (...identifiers: string[]): Promise<number[]> =>
    (await fixture.push(...identifiers)).map(({ sequence }) => sequence!)
  const move = (by: number): Promise<unknown> =>
    run(sql`select setval('taskstream.task_sequence', (select last_value + ${by}::int8 from taskstream.task_sequence))`)
  /** Pushes a task and completes it. @returns its sequence */
  const doOne = async (): Promise<number> => {
    const [sequence] = await pushed('done')
    await fixture.complete(await poll(), undefined, owner)
    return sequence!
  }
  /** Polls until the low watermark is where it should be. Meanwhile others may have transactions open. */
  const floorIs = async (sequence: number): Promise<void> => {
    await expect
      .poll(
        async () => {
          expect(await poll()).toEqual([])
          return reports.at(-1)?.floor
        },
        { interval: 1 },
      )
      .toBe(sequence)
  }

  test('begins behind all tasks that are done, and reads none of them again', async () => {
    const [first] = await pushed('a', 'b')
    const held = await poll()
    expect(names(held)).toEqual(['a', 'b'])
    expect(reports.at(-1)).toMatchObject({ floor: 0, taken: 2 })
    await fixture.complete(held, undefined, owner)
    const next = await doOne()
    expect(next).toBeGreaterThan(first!)
    await floorIs(next)
    const last = await doOne()
    await floorIs(last)
    expect(reports.at(-1)!.high).toBe(last)
  })

  testOn(['postgres'])('begins before the first task that may still come', async () => {
    const done = await doOne()
    await session.begin()
    await fixture.tasks.push(session.transaction, fixture.topic, 'late')
    await doOne()
    await doOne()
    expect(await poll()).toEqual([])
    expect(Math.max(...reports.map(({ floor }) => floor))).toBeLessThanOrEqual(done)
    await session.commit()
    expect(names(await poll())).toEqual(['late'])
  })

  test('keeps where it begins for other processes, once that is far enough', async () => {
    const kept = async (): Promise<number> => {
      const [row] = await run(sql`select floor from taskstream.task_topic where topic = ${fixture.topic}`)
      return Number(row!['floor'])
    }
    await run(
      sql`update taskstream.task_topic set floor = (select last_value from taskstream.task_sequence) where topic = ${fixture.topic}`,
    )
    const before = await kept()
    const near = await doOne()
    await floorIs(near)
    expect(await kept()).toBe(before)
    await move(10_000)
    const far = await doOne()
    await floorIs(far)
    expect(await kept()).toBe(far)
    owner = await process()
    reports.length = 0
    expect(await poll()).toEqual([])
    expect(reports[0]).toMatchObject({ floor: far })
    expect(names(await poll())).toEqual([])
  })

  test('takes what was handed back in its order among the others, and nothing that is not ready', async () => {
    const [, b] = await pushed('a', 'b', 'c', 'd')
    const held = await poll(3)
    await fixture.commit((transaction) => owner.handBack(transaction, fixture.topic, [held[1]!]))
    expect(await poll(1)).toMatchObject([{ identifier: 'b', sequence: b, attempt: 2, tries: 1 }])
    await fixture.commit((transaction) => owner.handBack(transaction, fixture.topic, [held[0]!, held[2]!]))
    expect(names(await poll(2))).toEqual(['a', 'c'])
    expect(names(await poll(2))).toEqual(['d'])
    expect(await poll(2)).toEqual([])
  })

  testOn(['postgres'])(
    'finds the next one however many that were handed back others have locked, and leaves these alone',
    async () => {
      const identifiers = Array.from({ length: 1_203 }, (_, index) => `t${index}`)
      const sequences = await pushed(...identifiers)
      const held = await poll(1_202)
      await fixture.commit((transaction) => owner.handBack(transaction, fixture.topic, held))
      await session.begin()
      const rows = sql`select sequence from taskstream.task where topic = ${fixture.topic} and sequence < ${sequences[1_200]!} for update`
      await fixture.subject.execute(session.transaction, rows)
      expect(names(await poll(5))).toEqual(['t1200', 't1201', 't1202'])
      await session.rollback()
      expect(names(await poll(2))).toEqual(['t0', 't1'])
    },
  )

  testOn(['postgres'])('finds the next one however many fresh ones others have locked', async () => {
    const sequences = await pushed(...Array.from({ length: 1_203 }, (_, index) => `t${index}`))
    await session.begin()
    const rows = sql`select sequence from taskstream.task where topic = ${fixture.topic} and sequence < ${sequences[1_200]!} for update`
    await fixture.subject.execute(session.transaction, rows)
    expect(names(await poll(2))).toEqual(['t1200', 't1201'])
    await session.rollback()
    expect(names(await poll(2))).toEqual(['t0', 't1'])
  })

  test('takes the first ones in order, however many are ready beside those that were handed back', async () => {
    await pushed(...Array.from({ length: 1_203 }, (_, index) => `t${index}`))
    const held = await poll(1)
    await fixture.commit((transaction) => owner.handBack(transaction, fixture.topic, held))
    expect(names(await poll(3))).toEqual(['t0', 't1', 't2'])
  })

  test('notes when it took a task, by the clock of a test too, and forgets why it was ready again', async () => {
    const stateOf = async (): Promise<unknown[]> => {
      const [row] = await run(sql`select started, reason from taskstream.task where topic = ${fixture.topic}`)
      return [row!['started'] instanceof Date ? row!['started'].getTime() : row!['started'], row!['reason']]
    }
    const times = [Date.UTC(2030, 0, 1), Date.UTC(2031, 6, 2, 3, 4, 5, 678)]
    let now = 0
    const clocked = fixture.subject.tasks({ clock: () => new Date(now) })
    await fixture.commit((transaction) => clocked.register(transaction))
    await pushed('a')
    for (now of times) {
      const held = await fixture.poll(1, clocked)
      expect([names(held), await stateOf()]).toEqual([['a'], [now, null]])
      await fixture.commit((transaction) => clocked.handBack(transaction, fixture.topic, held))
    }
    await poll(1)
    const [started, reason] = await stateOf()
    expect([typeof started, reason]).toEqual(['number', null])
    expect(times).not.toContain(started)
    await fixture.commit((transaction) => owner.unregister(transaction))
    const expiry = { olderThanMs: 86_400_000, then: 'ready' } as const
    await fixture.commit<Expiry>((transaction) => clocked.expire(transaction, expiry))
    expect((await stateOf())[1]).not.toBeNull()
    owner = await process()
    expect(names(await poll(1))).toEqual(['a'])
    expect((await stateOf())[1]).toBeNull()
  })

  test('takes only ready rows of its topic, no more than asked for, in order, and counts the try', async () => {
    const topic = fixture.topic
    await pushed('a', 'b', 'c')
    await fixture.nextTopic()
    await pushed('other')
    expect(names(await poll())).toEqual(['other'])
    const tasks = (size: number): Promise<HeldTask[]> =>
      fixture.commit<HeldTask[]>((transaction) => owner.poll(transaction, topic, { size }))
    expect(await tasks(2)).toMatchObject([
      { topic, identifier: 'a', attempt: 1, tries: 1 },
      { topic, identifier: 'b', attempt: 1, tries: 1 },
    ])
    const rows = await run(sql`select identifier, state, owner from taskstream.task where topic = ${topic} order by sequence`)
    expect(rows.map((row) => [row['identifier'], row['owner']])).toEqual([
      ['a', owner.owner],
      ['b', owner.owner],
      ['c', null],
    ])
    expect(names(await tasks(2))).toEqual(['c'])
  })

  test('in a transaction that has pushed takes what was pushed there too, and keeps nothing of it when that is undone', async () => {
    await pushed('a')
    for (const hold of ['lease', 'transaction'] as const) {
      await session.begin()
      await fixture.tasks.push(session.transaction, fixture.topic, 'b')
      expect(names(await owner.poll(session.transaction, fixture.topic, { size: 10, hold }))).toEqual(['a', 'b'])
      expect(await owner.poll(session.transaction, fixture.topic, { size: 10, hold })).toEqual([])
      await session.rollback()
    }
    expect(names(await poll())).toEqual(['a'])
  })

  test('for its transaction only locks tasks, and gives none of them twice there', async () => {
    await pushed('a', 'b', 'c')
    await session.begin()
    const locked = await owner.poll(session.transaction, fixture.topic, { size: 2, hold: 'transaction' })
    expect(locked).toMatchObject([
      { identifier: 'a', attempt: 1, tries: 1 },
      { identifier: 'b', attempt: 1, tries: 1 },
    ])
    const states = async (): Promise<unknown[]> => {
      const rows = sql`select identifier, state, attempt from taskstream.task where topic = ${fixture.topic} and owner is null order by sequence`
      return (await fixture.subject.execute(session.transaction, rows)).map((row) => [row['identifier'], Number(row['attempt'])])
    }
    expect(await states()).toEqual([
      ['a', 0],
      ['b', 0],
      ['c', 0],
    ])
    // The second poll cannot tell its locks apart from those, and so makes the task active.
    expect(names(await owner.poll(session.transaction, fixture.topic, { size: 10, hold: 'transaction' }))).toEqual(['c'])
    expect(await states()).toEqual([
      ['a', 0],
      ['b', 0],
    ])
    expect(await owner.poll(session.transaction, fixture.topic, { size: 10 })).toEqual([])
    const decisions = new Map([...locked].map((task) => [task, TaskDecision.success()]))
    expect(await owner.complete(session.transaction, fixture.topic, decisions)).toMatchObject({ completed: locked, lost: [] })
    await session.rollback()
    expect(names(await poll())).toEqual(['a', 'b', 'c'])
  })

  test('for its transaction takes nothing from another topic, and what was handed back in its order', async () => {
    await pushed('a', 'b', 'c')
    const held = await poll(2)
    await fixture.commit((transaction) => owner.handBack(transaction, fixture.topic, held.slice(1)))
    await session.begin()
    expect(names(await owner.poll(session.transaction, fixture.topic, { size: 10, hold: 'transaction' }))).toEqual(['b', 'c'])
    await session.rollback()
    const topic = fixture.topic
    await fixture.nextTopic()
    await session.begin()
    expect(await owner.poll(session.transaction, fixture.topic, { size: 10, hold: 'transaction' })).toEqual([])
    expect(names(await owner.poll(session.transaction, topic, { size: 10, hold: 'transaction' }))).toEqual(['b', 'c'])
    await session.rollback()
  })

  test('reads nothing of other topics’ lists', async () => {
    await pushed('a')
    await fixture.commit(async (transaction) => {
      await owner.handBack(transaction, fixture.topic, (await owner.poll(transaction, fixture.topic)) as HeldTask[])
    })
    await fixture.nextTopic()
    reports.length = 0
    await pushed('b')
    expect(names(await poll())).toEqual(['b'])
    // The first statement learned the topic's history, and the second took the task: nothing is listed here.
    expect(reports).toHaveLength(2)
  })

  test('of an owner or a topic that is not known takes nothing, and says so', async () => {
    await pushed('a')
    const gone = await process()
    await fixture.commit((transaction) => gone.unregister(transaction))
    expect(await codeOf(() => fixture.poll(1, gone))).toBe('OWNER_UNKNOWN')
    expect(await codeOf(() => fixture.commit((transaction) => owner.poll(transaction, 'none', { size: 1 })))).toBe(
      'TOPIC_UNKNOWN',
    )
    await run(raw('select 1'))
    expect(names(await poll())).toEqual(['a'])
  })
})
