/** A topic in which one task follows the other is polled by less: what a poll before has learned is taken to be so, where it is. */
import { raw, sqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, postgres } from '@taskstream/task-sql/pg'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, subjectName, engine } from '../subject.ts'
import type { Session, Tasks } from '../subject.ts'
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

  /** One task comes and goes, and a poll finds nothing after it. */
  const quieten = async (): Promise<void> => {
    await fixture.push('before')
    await fixture.complete(await fixture.poll(1, owner), undefined, owner)
    expect(await fixture.poll(1, owner)).toEqual([])
  }

  /** A repository that knows nothing of what the others have learned. */
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
    await fixture.push('a', 'b')
    const [a] = await fixture.poll(1)
    await fixture.commit((transaction) => fixture.tasks.handBack(transaction, fixture.topic, [a!]))
    expect(names(await fixture.poll(1, owner))).toEqual(['a'])
  })

  test('passes over what another is taking', async () => {
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
        // What a transaction has read is counted when it has ended.
        await fixture.commit((transaction) => fixture.subject.execute(transaction, raw('select pg_stat_force_next_flush()')))
        const sum = `select idx_tup_read as count from pg_stat_user_indexes where indexrelname = 'task_pkey'`
        const [row] = await fixture.commit((transaction) => fixture.subject.execute(transaction, raw(sum)))
        return Number(row?.['count'])
      }
      const before = await read()
      for (let cycle = 0; cycle < 300; cycle++) await quieten()
      const each = ((await read()) - before) / 300
      expect(each).toBeGreaterThan(1)
      expect(each).toBeLessThan(60)
    })
})
