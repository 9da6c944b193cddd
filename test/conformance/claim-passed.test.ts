/** On PostgreSQL, polls persist how far a topic is done, for processes that have learned nothing yet. */
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { names, useFixture } from '@taskstream/task-testing/suite'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { Session } from '../subject.ts'
import { draws, watchClaims } from './watched-claims.ts'
import type { WatchedClaims } from './watched-claims.ts'

describe.skipIf(!canRun)('the low watermark of a topic', () => {
  const fixture = useFixture(engine)
  let watched: WatchedClaims
  let session: Session
  /** What the topic is persisted to be done up to, in the beginning. */
  let before = 0
  beforeAll(async () => {
    session = await fixture.subject.session()
  })
  beforeEach(async () => {
    watched = await watchClaims(fixture)
    await run(sql`update taskstream.task_topic set floor = (select last_value from taskstream.task_sequence)`)
    before = await persisted()
  })
  afterEach(() => session.rollback().catch(() => {}))

  const run = (statement: Statement): ReturnType<typeof fixture.subject.execute> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, statement))
  const persisted = async (topic = fixture.topic): Promise<number> => {
    const [row] = await run(sql`select floor from taskstream.task_topic where topic = ${topic}`)
    return Number(row!['floor'])
  }
  const change = (assignment: string): Promise<unknown> =>
    run(sql`update taskstream.task_topic set ${raw(assignment)} where topic = ${fixture.topic}`)
  /** Pushes and completes a task so many sequences further on. @returns its sequence */
  const doOne = async (further: number): Promise<number> => {
    await draws(fixture, before + further)
    return watched.doOne()
  }
  const persists = (): number => watched.seen.filter(({ kind }) => kind === 'persisting').length

  test('is persisted once it is far ahead of the persisted one, for this topic alone', async () => {
    const other = fixture.topic
    await fixture.nextTopic()
    await run(sql`update taskstream.task_topic set floor = ${before}::int8`)
    await watched.passes(await doOne(1))
    expect([persists(), await persisted()]).toEqual([0, before])
    const far = await doOne(10_000)
    await watched.passes(far)
    expect([persists(), await persisted(), await persisted(other)]).toEqual([1, far, before])
  })

  test('is never persisted behind what another process has persisted meanwhile', async () => {
    const far = await doOne(10_000)
    watched.before('persisting', () => change(`floor = ${far + 1}`))
    await watched.passes(far)
    expect([persists(), await persisted()]).toEqual([1, far + 1])
  })

  test('is not persisted for a topic that was made anew meanwhile', async () => {
    const far = await doOne(10_000)
    watched.before('persisting', () => change('generation = generation + 1'))
    await watched.passes(far)
    expect([persists(), await persisted()]).toEqual([1, before])
  })

  test('is not persisted while another transaction persists it, and no poll waits for that one', async () => {
    const far = await doOne(10_000)
    watched.before('persisting', async () => {
      await session.begin()
      const row = sql`select topic from taskstream.task_topic where topic = ${fixture.topic} for no key update`
      await fixture.subject.execute(session.transaction, row)
    })
    await watched.passes(far)
    expect([persists(), await persisted()]).toEqual([1, before])
  })

  test('is persisted by no poll that might see an older one, or undo it', async () => {
    const far = await doOne(10_000)
    await session.begin()
    await fixture.subject.execute(session.transaction, raw('set transaction isolation level repeatable read'))
    await fixture.subject.execute(session.transaction, raw('select count(*) from taskstream.task_topic'))
    await watched.passes(far)
    expect([persists(), await persisted()]).toEqual([1, far])
    await fixture.push('a', 'b')
    expect(await watched.tasks.poll(session.transaction, fixture.topic)).toEqual([])
    expect(persists()).toBe(1)
    await session.rollback()
    expect(names(await fixture.poll(10, watched.tasks))).toEqual(['a', 'b'])
  })
})
