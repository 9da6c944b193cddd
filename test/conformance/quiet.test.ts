/** A topic in which one task follows the other is polled by less: what a poll before has learned is taken to be so, where it is. */
import { raw, sqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, postgres } from '@taskstream/task-sql/postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, subjectName } from '../subject.ts'
import type { Session, Tasks } from '../subject.ts'
import { codeOf, names, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

describe.skipIf(!canRun)('a quiet topic', () => {
  let it: Fixture
  let owner: Tasks
  let session: Session
  beforeAll(async () => {
    it = await openFixture()
    session = await it.subject.session()
  })
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(async () => {
    await it.nextTopic()
    owner = await it.owner()
    await quieten()
  })

  /** One task comes and goes, and a poll finds nothing after it. */
  const quieten = async (): Promise<void> => {
    await it.push('before')
    await it.complete(await it.poll(1, owner), undefined, owner)
    expect(await it.poll(1, owner)).toEqual([])
  }

  /** A repository that knows nothing of what the others have learned. */
  const anotherProcess = async (): Promise<Tasks> => {
    const dialect = postgres({ partitioned: subjectName === 'postgres-partitioned' })
    const tasks = sqlTaskRepository({ dialect, adapter: fromPg }) as Tasks
    await it.commit((transaction) => tasks.register(transaction))
    return tasks
  }

  test('gives its tasks one by one, in order', async () => {
    for (const identifier of ['a', 'b', 'c']) {
      await it.push(identifier)
      const held = await it.poll(1, owner)
      expect(held).toMatchObject([{ identifier, attempt: 1, tries: 1 }])
      expect(await it.complete(held, undefined, owner)).toMatchObject({ completed: { length: 1 } })
      expect(await it.poll(1, owner)).toEqual([])
    }
  })

  test('gives nothing to an owner that was removed', async () => {
    await it.push('a')
    await it.commit((transaction) => owner.unregister(transaction))
    expect(await codeOf(() => it.poll(1, owner))).toBe('OWNER_UNKNOWN')
    expect(names(await it.poll(1))).toEqual(['a'])
  })

  test('gives first what was handed back, and what is overdue', async () => {
    await it.push('a', 'b')
    const [a] = await it.poll(1)
    await it.commit((transaction) => it.tasks.handBack(transaction, it.topic, [a!]))
    expect(names(await it.poll(1, owner))).toEqual(['a'])
  })

  test('passes over what another is taking', async () => {
    await it.push('a', 'b')
    await session.begin()
    expect(names(await (await anotherProcess()).poll(session.transaction, it.topic))).toEqual(['a'])
    expect(names(await it.poll(10, owner))).toEqual(['b'])
    await session.rollback()
    expect(names(await it.poll(10, owner))).toEqual(['a'])
  })

  test('is a new one when it was initialised again', async () => {
    await it.commit((transaction) => it.tasks.destroy(transaction, it.topic))
    expect(await codeOf(() => it.poll(1, owner))).toBe('TOPIC_UNKNOWN')
    await it.commit((transaction) => it.tasks.initialize(transaction, it.topic, { order: 'lifo' }))
    await it.push('a', 'b')
    expect(names(await it.poll(1, owner))).toEqual(['b'])
  })

  test('gives no task twice in a transaction, whichever repository asks', async () => {
    await it.push('a', 'b')
    const another = await anotherProcess()
    await session.begin()
    expect(names(await another.poll(session.transaction, it.topic, { hold: 'transaction' }))).toEqual(['a'])
    expect(names(await owner.poll(session.transaction, it.topic, { size: 10 }))).toEqual(['b'])
    await session.rollback()
  })

  // PostgreSQL 15 reads more to complete (docs/decisions/plans.md).
  if (subjectName === 'postgres-18')
    test('is read no further back than a few tasks, however many are done', async () => {
      const read = async (): Promise<number> => {
        // What a transaction has read is counted when it has ended.
        await it.commit((transaction) => it.subject.execute(transaction, raw('select pg_stat_force_next_flush()')))
        const sum = `select idx_tup_read as count from pg_stat_user_indexes where indexrelname = 'task_pkey'`
        const [row] = await it.commit((transaction) => it.subject.execute(transaction, raw(sum)))
        return Number(row?.['count'])
      }
      const before = await read()
      for (let cycle = 0; cycle < 300; cycle++) await quieten()
      const each = ((await read()) - before) / 300
      expect(each).toBeGreaterThan(1)
      expect(each).toBeLessThan(60)
    })
})
