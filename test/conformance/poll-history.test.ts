/** On PostgreSQL, the state that polls remember does no harm when a sequence or a database changes behind it. */
import type { HeldTask } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { codeOf, names, useFixture } from '@taskstream/task-testing/suite'
import { beforeAll, describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { Tasks } from '../subject.ts'
import { testOn } from '../test-on.ts'

describe.skipIf(!canRun)('a poll of PostgreSQL', () => {
  const fixture = useFixture(engine)
  let rival: Tasks
  beforeAll(async () => {
    rival = await fixture.owner()
  })
  const push = (...identifiers: string[]): Promise<unknown> => fixture.push(...identifiers)
  const poll = (by: Tasks, size: number): Promise<HeldTask[]> => fixture.poll(size, by)

  test('takes nothing where sessions draw sequences in advance, and says what to do', async () => {
    const cache = (count: number): Promise<unknown> =>
      fixture.commit((transaction) =>
        fixture.subject.execute(transaction, raw(`alter sequence taskstream.task_sequence cache ${count}`)),
      )
    await push('a')
    await cache(50)
    expect(await codeOf(() => poll(fixture.tasks, 1))).toBe('RUNTIME_UNSUPPORTED')
    await expect(poll(fixture.tasks, 1)).rejects.toThrow(/alter sequence .*task_sequence cache 1/)
    await cache(1)
    expect(await poll(fixture.tasks, 1)).toMatchObject([{ identifier: 'a', attempt: 1 }])
    // Earlier polls of this repository make no difference.
    await push('b')
    await cache(50)
    for (let count = 0; count < 2; count++) expect(await codeOf(() => poll(fixture.tasks, 1))).toBe('RUNTIME_UNSUPPORTED')
    await cache(1)
    expect(await poll(fixture.tasks, 1)).toMatchObject([{ identifier: 'b', attempt: 1 }])
  })

  test('polls again in a database that was replaced under it, and says so where that happens each time', async () => {
    await push('a', 'b')
    let replacements = 3
    const replaced = fixture.subject.tasks({
      adapt: (adapter) => ({
        ...adapter,
        execute: async (transaction, statement, plan) => {
          if (statement.texts.join('').includes('start as materialized') && replacements-- > 0)
            await adapter.execute(
              transaction,
              sql`update taskstream.task_topic set generation = generation + 1 where topic = ${fixture.topic}`,
              undefined,
            )
          return adapter.execute(transaction, statement, plan)
        },
      }),
    })
    await fixture.commit((transaction) => replaced.register(transaction))
    expect(names(await poll(replaced, 1))).toEqual(['a'])
    replacements = 100
    expect(await codeOf(() => poll(replaced, 1))).toBe('DATABASE_UNAVAILABLE')
    replacements = 0
    expect(await poll(replaced, 1)).toMatchObject([{ identifier: 'b', attempt: 1 }])
  })

  test('finds what others refer to by a foreign key, in a transaction that has written before', async () => {
    await push('a', 'b')
    const references =
      'create table reference (topic varchar(250), sequence bigint, foreign key (topic, sequence) references taskstream.task)'
    await fixture.commit((transaction) => fixture.subject.execute(transaction, raw(references)))
    // Two transactions that refer to a row at the same time share its lock.
    const [one, two] = [await fixture.subject.session(), await fixture.subject.session()]
    for (const session of [one, two]) {
      await session.begin()
      const refer = sql`insert into reference select topic, sequence from taskstream.task where topic = ${fixture.topic} and identifier = 'a'`
      await fixture.subject.execute(session.transaction, refer)
    }
    for (const session of [one, two]) await session.commit()
    await one.begin()
    await fixture.subject.execute(one.transaction, raw('create temporary table written (a int)'))
    expect(names(await rival.poll(one.transaction, fixture.topic, { size: 10 }))).toEqual(['a', 'b'])
    await one.rollback()
    await fixture.commit((transaction) => fixture.subject.execute(transaction, raw('drop table reference')))
  })

  test('finds what is pushed after the sequence was set to begin with its next number', async () => {
    await push('a')
    const next = sql`select setval('taskstream.task_sequence', (select last_value + 1 from taskstream.task_sequence), false)`
    await fixture.commit((transaction) => fixture.subject.execute(transaction, next))
    await fixture.complete(await poll(fixture.tasks, 10))
    for (let again = 0; again < 3; again++) expect(await poll(fixture.tasks, 10)).toEqual([])
    await push('b')
    expect(names(await poll(fixture.tasks, 10))).toEqual(['b'])
  })

  testOn(['postgres'])(
    'finds a push that began after the sequence was set back, while a poll waited for its floor to settle',
    async () => {
      await fixture.commit((transaction) =>
        fixture.subject.execute(transaction, sql`select setval('taskstream.task_sequence', 900000)`),
      )
      await push('a')
      await fixture.complete(await poll(fixture.tasks, 10))
      await fixture.commit(async (transaction) => {
        await fixture.tasks.purge(transaction, fixture.topic)
        await fixture.subject.execute(transaction, sql`select setval('taskstream.task_sequence', 100000)`)
      })
      const late = await fixture.subject.session()
      await late.begin()
      await fixture.tasks.push(late.transaction, fixture.topic, ['b', 'c'])
      expect(await poll(fixture.tasks, 10)).toEqual([])
      await late.commit()
      expect(names(await poll(fixture.tasks, 10))).toEqual(['b', 'c'])
    },
  )

  test('finds what is pushed after somebody has set the sequence back, below where it has polled', async () => {
    for (let round = 0; round < 10; round++) {
      await push(...Array.from({ length: 1_000 }, (_, index) => `t${index}`))
      await fixture.complete(await poll(fixture.tasks, 1_000))
    }
    await fixture.commit((transaction) => fixture.tasks.purge(transaction, fixture.topic))
    const back = sql`select setval('taskstream.task_sequence', 1)`
    await fixture.commit((transaction) => fixture.subject.execute(transaction, back))
    await push('a', 'b')
    expect(names(await poll(fixture.tasks, 1))).toEqual(['a'])
    const cold = await fixture.owner()
    expect(names(await poll(cold, 10))).toEqual(['b'])
    await push('c')
    expect(names(await poll(fixture.tasks, 10))).toEqual(['c'])
  })
})
