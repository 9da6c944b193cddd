import { isTaskError, TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import { testOn } from '../test-on.ts'
import type { Subject, Tasks } from '../subject.ts'
import { codeOf, names, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

describe.skipIf(!canRun)('poll', () => {
  let it: Fixture
  let subject: Subject
  let tasks: Tasks
  let rival: Tasks
  let topic = ''
  beforeAll(async () => {
    it = await openFixture()
    ;({ subject, tasks } = it)
    rival = await it.owner()
  })
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(async () => {
    await it.nextTopic()
    topic = it.topic
  })
  const push = (...identifiers: string[]): Promise<unknown> =>
    subject.transactions((transaction) => tasks.push(transaction, topic, identifiers))
  const poll = (by: Tasks, size: number): Promise<HeldTask[]> =>
    subject.transactions<HeldTask[]>((transaction) => by.poll(transaction, topic, { size }))

  test('takes the first ready tasks in the order they were pushed, each once', async () => {
    await push('a', 'b', 'c')
    expect(names(await poll(tasks, 2))).toEqual(['a', 'b'])
    expect(names(await poll(rival, 2))).toEqual(['c'])
    expect(await poll(tasks, 2)).toEqual([])
  })

  test('takes one task unless asked for more, and none if asked for none', async () => {
    await push('a', 'b')
    expect(await poll(tasks, 0)).toEqual([])
    expect(names(await subject.transactions<HeldTask[]>((transaction) => tasks.poll(transaction, topic)))).toEqual(['a'])
  })

  test('gives what was pushed, and counts attempts and tries', async () => {
    const creation = {
      identifier: 'a',
      input: 'in {"}, \\ put',
      reference: 'ref',
      externalId: `x-${topic}`,
      priority: 7,
      maxTries: 3,
      headers: { trace: ['1', null], deep: { n: 1.5 } },
    }
    await subject.transactions((transaction) => tasks.push(transaction, topic, creation))
    const [first] = await poll(tasks, 1)
    expect(first).toMatchObject({ topic, attempt: 1, tries: 1, ...creation })
    await subject.transactions((transaction) => tasks.handBack(transaction, topic, first ? [first] : []))
    expect((await poll(tasks, 1))[0]).toMatchObject({ attempt: 2, tries: 1, ...creation })
  })

  test('sees nothing of a push that rolls back', async () => {
    await subject
      .transactions(async (transaction) => {
        await tasks.push(transaction, topic, 'a')
        throw new Error('no')
      })
      .catch(() => {})
    expect(await poll(tasks, 1)).toEqual([])
  })

  test('that rolls back leaves its tasks ready, also to the same repository', async () => {
    await push('a', 'b', 'c', 'd')
    await subject
      .transactions(async (transaction) => {
        expect(names(await tasks.poll(transaction, topic, { size: 2 }))).toEqual(['a', 'b'])
        expect(names(await tasks.poll(transaction, topic, { size: 1 }))).toEqual(['c'])
        throw new Error('no')
      })
      .catch(() => {})
    expect(names(await poll(tasks, 10))).toEqual(['a', 'b', 'c', 'd'])
  })

  test('keeps topics apart', async () => {
    const other = `${topic}-other`
    await subject.transactions((transaction) => tasks.initialize(transaction, other))
    await subject.transactions((transaction) => tasks.push(transaction, other, 'theirs'))
    await push('ours')
    expect(names(await poll(tasks, 10))).toEqual(['ours'])
  })

  test('is refused to an owner that is not registered, and takes nothing', async () => {
    await push('a')
    const stranger = subject.tasks()
    const error: unknown = await poll(stranger, 1).catch((thrown: unknown) => thrown)
    expect(isTaskError(error, 'OWNER_UNKNOWN')).toBe(true)
    expect(String(error)).toContain('register')
    expect(names(await poll(tasks, 1))).toEqual(['a'])
  })

  test('is refused for a topic that was never initialised', async () => {
    const polling = subject.transactions<HeldTask[]>((transaction) => tasks.poll(transaction, 'never'))
    await expect(polling).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN', data: { topic: 'never' } })
    await expect(polling).rejects.toThrow(/initialize/)
  })

  test('takes every task of many, in order, however many polls it needs', async () => {
    const identifiers = Array.from({ length: 5_000 }, (_, index) => String(index))
    await push(...identifiers)
    const seen: string[] = []
    for (let batch = await poll(tasks, 700); batch.length > 0; batch = await poll(tasks, 700)) {
      seen.push(...names(batch))
      const decisions = new Map(batch.map((task) => [task, TaskDecision.success()]))
      await subject.transactions((transaction) => tasks.complete(transaction, topic, decisions))
    }
    expect(seen).toEqual(identifiers)
  })

  test('puts a task that comes back where its sequence belongs', async () => {
    await push('a', 'b', 'c', 'd', 'e')
    const [a, b, c] = await poll(tasks, 3)
    await subject.transactions((transaction) => tasks.handBack(transaction, topic, [b!]))
    expect(names(await poll(tasks, 2))).toEqual(['b', 'd'])
    await subject.transactions((transaction) => tasks.handBack(transaction, topic, [a!, c!]))
    await push('f')
    expect(names(await poll(tasks, 10))).toEqual(['a', 'c', 'e', 'f'])
  })

  test('prefers a fresh task to a later one that came back', async () => {
    await subject.transactions((transaction) => tasks.push(transaction, topic, ['a', { identifier: 'b', delayMs: 1 }, 'c']))
    // The delayed one becomes ready while the first is still waiting.
    const released = async (): Promise<number> =>
      (await subject.transactions<{ released: number }>((transaction) => tasks.release(transaction, topic))).released
    await expect.poll(released, { interval: 2 }).toBe(1)
    expect(names(await poll(tasks, 1))).toEqual(['a'])
    expect(names(await poll(tasks, 1))).toEqual(['b'])
    expect(names(await poll(tasks, 1))).toEqual(['c'])
  })

  testOn(['postgres'])('passes over what another transaction is polling, without waiting', async () => {
    await push('a', 'b', 'c')
    const [one, two] = [await subject.session(), await subject.session()]
    await one.begin()
    await two.begin()
    expect(names(await tasks.poll(one.transaction, topic, { size: 2 }))).toEqual(['a', 'b'])
    expect(names(await rival.poll(two.transaction, topic, { size: 2 }))).toEqual(['c'])
    await one.rollback()
    expect(names(await rival.poll(two.transaction, topic, { size: 2 }))).toEqual(['a', 'b'])
    await two.commit()
    expect(await poll(tasks, 3)).toEqual([])
  })

  testOn(['postgres', 'mariadb'])(
    'gives what came back before what is fresh, while another transaction polls the first of it',
    async () => {
      await push('a', 'b')
      const [a, b] = await poll(tasks, 2)
      await subject.transactions((transaction) => tasks.handBack(transaction, topic, [a!, b!]))
      await push('c')
      const other = await subject.session()
      await other.begin()
      expect(names(await rival.poll(other.transaction, topic, { size: 1 }))).toEqual(['a'])
      expect(names(await poll(tasks, 1))).toEqual(['b'])
      expect(names(await poll(tasks, 1))).toEqual(['c'])
      await other.rollback()
      expect(names(await poll(tasks, 1))).toEqual(['a'])
    },
  )

  testOn(['postgres', 'mariadb'])(
    'finds what is free behind thousands of tasks that came back and others are polling',
    async () => {
      await push(...Array.from({ length: 3_000 }, (_, index) => `t${index}`))
      const batch = await poll(tasks, 3_000)
      await subject.transactions((transaction) => tasks.handBack(transaction, topic, batch))
      await push('fresh')
      const other = await subject.session()
      await other.begin()
      expect(await rival.poll(other.transaction, topic, { size: 2_999 })).toHaveLength(2_999)
      expect(names(await poll(tasks, 10))).toEqual(['t2999', 'fresh'])
      await other.rollback()
    },
  )

  testOn(['postgres'])('takes nothing where sessions draw sequences in advance, and says what to do', async () => {
    const cache = (count: number): Promise<unknown> =>
      subject.transactions((transaction) =>
        subject.execute(transaction, raw(`alter sequence taskstream.task_sequence cache ${count}`)),
      )
    await push('a')
    await cache(50)
    expect(await codeOf(() => poll(tasks, 1))).toBe('RUNTIME_UNSUPPORTED')
    await expect(poll(tasks, 1)).rejects.toThrow(/alter sequence .*task_sequence cache 1/)
    await cache(1)
    expect(await poll(tasks, 1)).toMatchObject([{ identifier: 'a', attempt: 1 }])
    // Whatever it has polled before, and however often.
    await push('b')
    await cache(50)
    for (let count = 0; count < 2; count++) expect(await codeOf(() => poll(tasks, 1))).toBe('RUNTIME_UNSUPPORTED')
    await cache(1)
    expect(await poll(tasks, 1)).toMatchObject([{ identifier: 'b', attempt: 1 }])
  })

  testOn(['postgres'])(
    'polls again in a database that was replaced under it, and says so where that happens each time',
    async () => {
      await push('a', 'b')
      let replacements = 3
      const replaced = subject.tasks({
        adapt: (adapter) => ({
          ...adapter,
          execute: async (transaction, statement, plan) => {
            if (statement.texts.join('').includes('start as materialized') && replacements-- > 0)
              await adapter.execute(
                transaction,
                sql`update taskstream.task_topic set generation = generation + 1 where topic = ${topic}`,
                undefined,
              )
            return adapter.execute(transaction, statement, plan)
          },
        }),
      })
      await subject.transactions((transaction) => replaced.register(transaction))
      expect(names(await poll(replaced, 1))).toEqual(['a'])
      replacements = Infinity
      expect(await codeOf(() => poll(replaced, 1))).toBe('DATABASE_UNAVAILABLE')
      replacements = 0
      expect(await poll(replaced, 1)).toMatchObject([{ identifier: 'b', attempt: 1 }])
    },
  )

  testOn(['postgres'])('finds what others refer to by a foreign key, in a transaction that has written before', async () => {
    await push('a', 'b')
    const references =
      'create table reference (topic varchar(250), sequence bigint, foreign key (topic, sequence) references taskstream.task)'
    await subject.transactions((transaction) => subject.execute(transaction, raw(references)))
    // Two that refer to a row at a time share its lock.
    const [one, two] = [await subject.session(), await subject.session()]
    for (const session of [one, two]) {
      await session.begin()
      const refer = sql`insert into reference select topic, sequence from taskstream.task where topic = ${topic} and identifier = 'a'`
      await subject.execute(session.transaction, refer)
    }
    for (const session of [one, two]) await session.commit()
    await one.begin()
    await subject.execute(one.transaction, raw('create temporary table written (a int)'))
    expect(names(await rival.poll(one.transaction, topic, { size: 10 }))).toEqual(['a', 'b'])
    await one.rollback()
    await subject.transactions((transaction) => subject.execute(transaction, raw('drop table reference')))
  })

  testOn(['postgres'])('finds what is pushed after the sequence was set to begin with its next number', async () => {
    await push('a')
    const next = sql`select setval('taskstream.task_sequence', (select last_value + 1 from taskstream.task_sequence), false)`
    await subject.transactions((transaction) => subject.execute(transaction, next))
    await it.complete(await poll(tasks, 10))
    for (let again = 0; again < 3; again++) expect(await poll(tasks, 10)).toEqual([])
    await push('b')
    expect(names(await poll(tasks, 10))).toEqual(['b'])
  })

  testOn(['postgres'])(
    'finds a push that began after the sequence was set back, while a poll waited for its floor to settle',
    async () => {
      await subject.transactions((transaction) =>
        subject.execute(transaction, sql`select setval('taskstream.task_sequence', 900000)`),
      )
      await push('a')
      await it.complete(await poll(tasks, 10))
      await subject.transactions(async (transaction) => {
        await tasks.purge(transaction, topic)
        await subject.execute(transaction, sql`select setval('taskstream.task_sequence', 100000)`)
      })
      const late = await subject.session()
      await late.begin()
      await tasks.push(late.transaction, topic, ['b', 'c'])
      expect(await poll(tasks, 10)).toEqual([])
      await late.commit()
      expect(names(await poll(tasks, 10))).toEqual(['b', 'c'])
    },
  )

  testOn(['postgres'])('finds what is pushed after somebody has set the sequence back, below where it has polled', async () => {
    for (let round = 0; round < 10; round++) {
      await push(...Array.from({ length: 1_000 }, (_, index) => `t${index}`))
      await it.complete(await poll(tasks, 1_000))
    }
    await subject.transactions((transaction) => tasks.purge(transaction, topic))
    const back = sql`select setval('taskstream.task_sequence', 1)`
    await subject.transactions((transaction) => subject.execute(transaction, back))
    await push('a', 'b')
    expect(names(await poll(tasks, 1))).toEqual(['a'])
    const cold = await it.owner()
    expect(names(await poll(cold, 10))).toEqual(['b'])
    await push('c')
    expect(names(await poll(tasks, 10))).toEqual(['c'])
  })

  test('reclaims what an unanswered poll has taken, and nothing else', async () => {
    await push('a', 'b', 'c', 'd')
    const known = await poll(tasks, 1)
    await poll(tasks, 1) // the answer never came
    const theirs = await poll(rival, 1)
    const reclaimed = await subject.transactions((transaction) => tasks.reclaim(transaction, topic, known))
    expect(reclaimed).toBe(1)
    expect(names(await poll(tasks, 10))).toEqual(['b', 'd'])
    expect(names(theirs)).toEqual(['c'])
  })
})
