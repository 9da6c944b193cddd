/** On PostgreSQL, a long transaction that pushes nothing does not make polls read again what is done; one that pushes does. */
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { codeOf, names, useFixture } from '@taskstream/task-testing/suite'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { Session } from '../subject.ts'
import { watchClaims } from './watched-claims.ts'
import type { WatchedClaims } from './watched-claims.ts'

describe.skipIf(!canRun)('while a long transaction is open, a poll', () => {
  const fixture = useFixture(engine)
  /** The milliseconds of the process's clock. */
  let now = 0
  let watched: WatchedClaims
  let [one, two]: Session[] = []
  beforeAll(async () => {
    await run(raw('create table elsewhere (value int)'))
    await fixture.commit((transaction) => fixture.tasks.initialize(transaction, 'elsewhere'))
    one = await fixture.subject.session()
    two = await fixture.subject.session()
  })
  beforeEach(async () => {
    now = 0
    vi.spyOn(performance, 'now').mockImplementation(() => now)
    watched = await watchClaims(fixture)
    expect(await watched.poll()).toEqual([])
  })
  afterEach(async () => {
    vi.restoreAllMocks()
    await one!.rollback().catch(() => {})
    await two!.rollback().catch(() => {})
  })

  const run = (statement: Statement): ReturnType<typeof fixture.subject.execute> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, statement))
  const write = async (session: Session): Promise<void> => {
    await session.begin()
    await fixture.subject.execute(session.transaction, raw('insert into elsewhere values (1)'))
  }
  /** Pushes to another topic, which is of the same table. */
  const push = async (session: Session): Promise<void> => {
    await session.begin()
    await fixture.tasks.push(session.transaction, 'elsewhere', 'late')
  }
  /** Polls when so many milliseconds have passed. @returns whether the poll has read the locks, and the low watermark */
  const pollAfter = async (ms: number): Promise<{ reads: boolean; low: number }> => {
    now += ms
    const from = watched.seen.length
    expect(await watched.poll()).toEqual([])
    return { reads: watched.seen.slice(from).some(({ kind }) => kind === 'locks'), low: watched.low()! }
  }
  /** Polls, and may read the locks each time, until all polls begin behind this sequence. */
  const passes = (sequence: number): Promise<void> =>
    watched.passes(sequence, () => {
      now += 100
      return watched.poll()
    })

  /** The next look into the lock table reaches another server, which has another history and no locks. */
  const readElsewhere = (): void => {
    const change = (by: number): Promise<unknown> =>
      run(sql`update taskstream.task_topic set generation = generation + ${by}::int8 where topic = ${fixture.topic}`)
    watched.before('locks', () => change(1))
    watched.answer('locks', async (rows) => {
      await change(-1)
      return rows.map((row) => ({ ...row, holders: null }))
    })
  }

  test('begins behind what is done, though that one has read tasks and written elsewhere', async () => {
    await write(one!)
    await fixture.subject.execute(one!.transaction, raw('select count(*) from taskstream.task'))
    await passes(await watched.doOne())
  })

  test('reads the locks when a tenth of a second has passed, and again after another', async () => {
    await push(one!)
    const before = watched.low()!
    await watched.doOne()
    for (const [ms, reads] of [
      [0, false],
      [99, false],
      [1, true],
      [0, false],
      [99, false],
      [1, true],
    ] as const)
      expect(await pollAfter(ms)).toEqual({ reads, low: before })
  })

  test('begins before the tasks of one that has pushed, until it ends', async () => {
    const before = watched.low()!
    await one!.begin()
    await fixture.tasks.push(one!.transaction, fixture.topic, 'late')
    const done = await watched.doOne()
    for (let count = 0; count < 3; count++) expect(await pollAfter(100)).toEqual({ reads: true, low: before })
    await one!.commit()
    const held = await watched.poll()
    expect(names(held)).toEqual(['late'])
    await fixture.complete(held, undefined, watched.tasks)
    await passes(done)
  })

  test('waits for none that has pushed later', async () => {
    await write(two!)
    await push(one!)
    const done = await watched.doOne()
    expect((await pollAfter(100)).low).toBeLessThan(done)
    await fixture.tasks.push(two!.transaction, 'elsewhere', 'later')
    await one!.rollback()
    await passes(done)
  })

  test('waits for what its own transaction has pushed, which other polls of its process do not see yet', async () => {
    await one!.begin()
    await fixture.tasks.push(one!.transaction, fixture.topic, ['late', 'later'])
    await watched.doOne()
    now += 100
    expect(names(await watched.tasks.poll(one!.transaction, fixture.topic))).toEqual(['late'])
    expect(watched.seen.map(({ kind }) => kind)).toContain('locks')
    expect(await watched.poll()).toEqual([])
    await one!.commit()
    expect(names(await watched.poll())).toEqual(['later'])
  })

  test('forgets nothing that another poll has learned while it read the locks', async () => {
    await write(one!)
    await watched.doOne()
    let later = 0
    watched.answer('locks', async (rows) => {
      await one!.rollback()
      later = await watched.doOne()
      return rows
    })
    expect((await pollAfter(100)).reads).toBe(true)
    await passes(later)
  })

  test('takes the locks of another server for none of its own', async () => {
    const before = watched.low()!
    await one!.begin()
    await fixture.tasks.push(one!.transaction, fixture.topic, 'late')
    await watched.doOne()
    readElsewhere()
    expect(await pollAfter(100)).toEqual({ reads: true, low: before })
    await one!.commit()
    expect(names(await watched.poll())).toEqual(['late'])
  })

  test('forgets nothing when it has read the locks of another server', async () => {
    await write(one!)
    const done = await watched.doOne()
    readElsewhere()
    expect((await pollAfter(100)).reads).toBe(true)
    await one!.rollback()
    await passes(done)
  })

  test('says so if the topic is gone', async () => {
    await push(one!)
    await watched.doOne()
    now += 100
    await fixture.commit((transaction) => fixture.tasks.destroy(transaction, fixture.topic))
    expect(await codeOf(() => watched.poll())).toBe('TOPIC_UNKNOWN')
    expect(watched.seen.map(({ kind }) => kind)).toContain('locks')
  })
})
