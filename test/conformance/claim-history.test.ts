/** When polls of PostgreSQL forget what they have learned about a topic, and that they forget nothing without a reason. */
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { codeOf, names, useFixture } from '@taskstream/task-testing/suite'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { Session } from '../subject.ts'
import { watchClaims } from './watched-claims.ts'
import type { WatchedClaims } from './watched-claims.ts'

describe.skipIf(!canRun)('what a poll has learned', () => {
  const fixture = useFixture(engine)
  let watched: WatchedClaims
  let session: Session
  beforeAll(async () => {
    session = await fixture.subject.session()
  })
  beforeEach(async () => {
    watched = await watchClaims(fixture)
  })
  afterEach(async () => {
    vi.restoreAllMocks()
    await session.rollback().catch(() => {})
  })

  const run = (statement: Statement): ReturnType<typeof fixture.subject.execute> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, statement))
  /** Moves the sequence, as somebody might do by hand. */
  const move = (by: number): Promise<unknown> =>
    run(sql`select setval('taskstream.task_sequence', (select last_value + ${by}::int8 from taskstream.task_sequence))`)

  /** Begins a transaction that writes, but pushes nothing. */
  const begin = async (): Promise<void> => {
    await session.begin()
    await fixture.subject.execute(session.transaction, raw('create temporary table written (value int)'))
  }

  test('is forgotten when the sequence was set back, so that tasks are found which it passes again later', async () => {
    await move(100)
    await watched.passes(await watched.doOne())
    await move(-50)
    await fixture.push('a', 'b')
    expect(names(await watched.poll(1))).toEqual(['a'])
    await move(100)
    await fixture.push('c')
    expect(names(await watched.poll())).toEqual(['b', 'c'])
  })

  test('is forgotten when the sequence was set back behind the latest poll, though polls still wait for an earlier one', async () => {
    vi.spyOn(performance, 'now').mockReturnValue(0)
    await begin()
    await watched.doOne()
    await move(100)
    await watched.doOne()
    await move(-50)
    expect(await watched.poll()).toEqual([])
    await session.rollback()
    await session.begin()
    await fixture.tasks.push(session.transaction, fixture.topic, 'late')
    await move(100)
    for (let count = 0; count < 3; count++) expect(await watched.poll()).toEqual([])
    await session.commit()
    expect(names(await watched.poll())).toEqual(['late'])
  })

  test('is forgotten in another history, so that tasks are found again that a crash has given back', async () => {
    const [pushed] = await fixture.push('a')
    expect(names(await watched.poll())).toEqual(['a'])
    await watched.passes(pushed!.sequence!)
    await run(sql`update taskstream.task set state = 1, owner = null where topic = ${fixture.topic}`)
    expect(await watched.poll()).toEqual([])
    await run(sql`update taskstream.task_topic set generation = generation + 1 where topic = ${fixture.topic}`)
    expect(names(await watched.poll())).toEqual(['a'])
  })

  test('is kept by a poll that another one of its process has overtaken', async () => {
    await watched.doOne()
    let later = 0
    watched.answer('learning', async (rows) => {
      later = await watched.doOne()
      return rows
    })
    expect(await watched.poll()).toEqual([])
    await watched.passes(later)
    watched = await watchClaims(fixture)
    const last = await watched.doOne()
    watched.answer('learning', async (rows) => {
      await watched.passes(last)
      return rows
    })
    expect(await watched.poll()).toEqual([])
    await watched.passes(last)
  })

  test('is kept by polls that find nothing while another transaction is open', async () => {
    // After some time, polls would learn that the transaction pushes nothing.
    vi.spyOn(performance, 'now').mockReturnValue(0)
    await begin()
    await watched.doOne()
    const done = await watched.doOne()
    expect(await watched.kinds()).toEqual(['learning'])
    expect(await watched.kinds()).toEqual(['learning'])
    await session.rollback()
    await watched.passes(done)
  })

  test('about listed tasks is kept while others have them, and no fast-path claim is tried', async () => {
    await fixture.push('a', 'b')
    const held = await watched.poll()
    await fixture.commit((transaction) => watched.tasks.handBack(transaction, fixture.topic, held))
    expect(names(await watched.poll(1))).toEqual(['a'])
    await session.begin()
    const row = sql`select identifier from taskstream.task where topic = ${fixture.topic} and identifier = 'b' for update`
    await fixture.subject.execute(session.transaction, row)
    // The poll waits for nothing when it has learned how far all is done.
    await watched.passes(held[1]!.sequence)
    expect(await watched.kinds()).toEqual(['merging'])
    expect(await watched.kinds()).toEqual(['merging'])
    await session.rollback()
    expect(names(await watched.poll())).toEqual(['b'])
  })

  test('about listed tasks is forgotten when all are done, and polls are fast again', async () => {
    await fixture.push('a')
    await fixture.commit(async (transaction) =>
      watched.tasks.handBack(transaction, fixture.topic, await watched.tasks.poll(transaction, fixture.topic)),
    )
    const held = await watched.poll()
    expect(watched.seen.at(-1)).toMatchObject({ kind: 'merging' })
    await fixture.complete(held, undefined, watched.tasks)
    await watched.passes(await watched.doOne())
    await expect.poll(() => watched.kinds(), { interval: 1 }).toEqual(['fast'])
  })

  test('is checked again in each history: how many sequences sessions draw in advance', async () => {
    expect(await watched.kinds()).toEqual(['learning', 'cache', 'learning'])
    expect(await watched.kinds()).toEqual(['learning'])
    await run(sql`update taskstream.task_topic set generation = generation + 1 where topic = ${fixture.topic}`)
    expect(await watched.kinds()).toEqual(['learning', 'cache', 'learning'])
    watched.answer('cache', (rows) => rows.map((row) => ({ ...row, cache: '2' })))
    await run(sql`update taskstream.task_topic set generation = generation + 1 where topic = ${fixture.topic}`)
    await expect(watched.poll()).rejects.toMatchObject({
      code: 'RUNTIME_UNSUPPORTED',
      message: expect.stringContaining('draw 2 sequences') as string,
      data: { found: 2, needed: 1 },
    })
  })

  test('does no harm when the topic is removed while a poll goes on', async () => {
    await fixture.push('a')
    watched.before('cache', () => fixture.commit((transaction) => fixture.tasks.destroy(transaction, fixture.topic)))
    expect(await codeOf(() => watched.poll())).toBe('TOPIC_UNKNOWN')
  })

  /** The next claim reports that it has locked one row more than it took. Then these tasks are pushed. */
  const takesLess = (...pushed: string[]): void =>
    watched.answer('learning', async (rows) => {
      await fixture.push(...pushed)
      return rows.map((row) => {
        const words = typeof row['status'] === 'string' ? row['status'].split(' ') : undefined
        return words ? { ...row, status: words.with(12, String(Number(words[12]) + 1)).join(' ') } : row
      })
    })

  test('is not all that is ready if a poll took fewer tasks than it has locked: it takes the rest', async () => {
    await fixture.push('a', 'b')
    expect(names(await watched.poll(1))).toEqual(['a'])
    takesLess('c', 'd', 'e')
    expect(names(await watched.poll(3))).toEqual(['b', 'c', 'd'])
  })

  test('is not all that is ready if a poll that only locks took fewer: the next one takes the rest, unless it took none', async () => {
    const lock = async (): Promise<string[]> => {
      await session.begin()
      return names(await watched.tasks.poll(session.transaction, fixture.topic, { size: 3, hold: 'transaction' }))
    }
    expect(await watched.poll()).toEqual([])
    takesLess('a')
    expect(await lock()).toEqual(['a'])
    await session.rollback()
    takesLess('b')
    expect(await lock()).toEqual(['a'])
  })
})
