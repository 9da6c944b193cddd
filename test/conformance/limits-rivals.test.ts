/** Limits of topics hold whatever others do at the same time, and whatever the transaction of the caller has seen before. */
import { setTimeout as delay } from 'node:timers/promises'
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, SlotGrant, TaskInfo, TopicLimits } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { codeOf, names, openFixture, whileTested } from '@taskstream/task-testing/suite'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun, engine, isMysql, isPostgres } from '../subject.ts'
import type { AnyTransaction, Session, Tasks } from '../subject.ts'

describe.skipIf(!canRun)('dead letters', () => {
  const fixture = whileTested(
    () => openFixture(engine),
    (opened) => opened.nextTopic(),
  )
  const pageOf = (topic: string): Promise<TaskInfo[]> =>
    fixture.commit<TaskInfo[]>((transaction) => fixture.tasks.page(transaction, topic))

  test('of a task whose headers leave no room for more say at least of which task they are', async () => {
    const dead = `${fixture.topic}-dead`
    await fixture.commit<boolean>((transaction) => fixture.tasks.initialize(transaction, dead))
    await fixture.commit<TopicLimits>((transaction) => fixture.tasks.limit(transaction, fixture.topic, { deadLetter: dead }))
    await fixture.push({ identifier: 'a', headers: { large: 'x'.repeat(65_536 - 12) } })
    const [held] = await fixture.poll(1)
    await fixture.complete([held!], TaskDecision.failure())
    expect(await fixture.states()).toEqual({ failed: 1 })
    expect(await pageOf(dead)).toMatchObject([
      { identifier: 'a', headers: { dead: { topic: fixture.topic, sequence: held!.sequence } } },
    ])
  })

  test.each([{ keyed: true }, { condition: 'singular-by-identifier' }, { order: 'lifo' }, { order: 'priority' }] as const)(
    'go into a topic with %j, however long its name and the texts of the tasks are, and though it is full',
    async (options) => {
      const [topic, dead] = [`${'\u{1F600}'.repeat(120)}${fixture.topic}`, `${'d'.repeat(230)}${fixture.topic}`]
      const { tasks, commit } = fixture
      await commit<boolean>((transaction) => tasks.initialize(transaction, topic))
      await commit<boolean>((transaction) => tasks.initialize(transaction, dead, options))
      await commit<TopicLimits>((transaction) => tasks.limit(transaction, topic, { deadLetter: dead }))
      await commit<TopicLimits>((transaction) => tasks.limit(transaction, dead, { maxEntries: { count: 1 } }))
      const [identifier, externalId, reference] = ['i'.repeat(500), 'e'.repeat(500), 'r'.repeat(500)]
      await commit(async (transaction) => {
        await tasks.push(transaction, topic, [
          { identifier, externalId, reference, priority: 9 },
          { identifier },
          { identifier: 'b', maxTries: 1 },
        ])
        const held = (await tasks.poll(transaction, topic, { size: 3 })) as HeldTask[]
        const decisionOf = ({ maxTries }: HeldTask): TaskDecision =>
          maxTries === 1 ? TaskDecision.retry({ afterMs: 1 }) : TaskDecision.failure()
        await tasks.complete(transaction, topic, new Map(held.map((task) => [task, decisionOf(task)])))
      })
      expect(names(await pageOf(dead)).toSorted()).toEqual(['b', identifier, identifier])
    },
  )
})

describe.skipIf(!canRun || engine.writers === 1)('a limit among rivals', () => {
  const fixture = whileTested(
    () => openFixture(engine),
    (opened) => opened.nextTopic(),
  )
  let session: Session
  beforeAll(async () => {
    session = await fixture.subject.session()
  })
  beforeEach(() => session.rollback())

  const limit = (given: TopicLimits): Promise<TopicLimits> =>
    fixture.commit<TopicLimits>((transaction) => fixture.tasks.limit(transaction, fixture.topic, given))
  const push = async (transaction: AnyTransaction, identifiers: readonly string[]): Promise<void> => {
    await fixture.tasks.admit(transaction, fixture.topic, identifiers.length)
    await fixture.tasks.push(transaction, fixture.topic, identifiers)
  }
  const pushed = (...identifiers: readonly string[]): Promise<void> =>
    fixture.commit<void>((transaction) => push(transaction, identifiers))
  /** Begins a transaction whose snapshot is older than all that follows. */
  const beginBefore = async (): Promise<void> => {
    const { execute } = fixture.subject
    if (!isMysql) await session.begin()
    await execute(session.transaction, raw('set transaction isolation level repeatable read'))
    if (isMysql) await execute(session.transaction, raw('start transaction'))
    await execute(session.transaction, raw(`select count(*) from ${isPostgres ? 'taskstream.' : ''}task`))
  }

  test.each<readonly [string, before: TopicLimits, meanwhile: () => Promise<unknown>, count: number]>([
    ['has not seen the pushes of others', { maxEntries: { count: 2 } }, () => pushed('a', 'b'), 2],
    ['has not seen that it was lowered', { maxEntries: { count: 9 } }, () => lowered(), 1],
  ])('on entries is kept by a transaction whose snapshot %s', async (_, before, meanwhile, count) => {
    await limit(before)
    await beginBefore()
    await meanwhile()
    expect(['TOPIC_FULL', 'TRANSACTION_CONFLICT']).toContain(await codeOf(() => push(session.transaction, ['c'])))
    await session.rollback()
    expect(await fixture.states()).toEqual({ ready: count })
  })
  const lowered = async (): Promise<void> => {
    await pushed('a')
    await limit({ maxEntries: { count: 1 } })
  }

  test('on entries that a transaction has not seen in its snapshot is kept, or comes after it', async () => {
    await beginBefore()
    await limit({ maxEntries: { count: 1 } })
    await pushed('a')
    const outcome = await codeOf(() => push(session.transaction, ['c']))
    await session.rollback()
    expect(['TOPIC_FULL', 'TRANSACTION_CONFLICT', ...(isPostgres ? [undefined] : [])]).toContain(outcome)
  })

  test('on entries drops a younger task in place of one that is being handled in a transaction', async () => {
    await fixture.nextTopic({ record: 'states' })
    await limit({ maxEntries: { count: 3, whenFull: 'drop-oldest' } })
    await pushed('a', 'b', 'c')
    await session.begin()
    const held = (await fixture.tasks.poll(session.transaction, fixture.topic, { hold: 'transaction' })) as HeldTask[]
    expect(names(held)).toEqual(['a'])
    await pushed('d')
    await session.rollback()
    expect(names(await fixture.poll())).toEqual(['a', 'c', 'd'])
  })

  test('that two processes store at once is that of one of them, and the other is told', async () => {
    await session.begin()
    await fixture.tasks.limit(session.transaction, fixture.topic, { total: 1 }, { keep: true })
    const rate = { count: 1, perMs: 1_000 }
    const other = fixture.commit<TopicLimits>((transaction) =>
      fixture.tasks.limit(transaction, fixture.topic, { rate }, { keep: true }),
    )
    // It waits for the first, or has not come so far: what it is told is the same.
    await delay(50)
    await session.commit()
    expect(await other).toEqual({ total: 1 })
    const all = await fixture.commit<ReadonlyMap<string, TopicLimits>>((transaction) => fixture.tasks.limits(transaction))
    expect(all.get(fixture.topic)).toEqual({ total: 1 })
  })

  test('on all tasks at a time is kept if an owner comes back while its slots are freed', async () => {
    const [back, rival] = [await fixture.owner(), await fixture.owner()]
    const take = (by: Tasks): Promise<SlotGrant> =>
      fixture.commit<SlotGrant>((transaction) => by.takeSlots(transaction, fixture.topic, { held: 0, wanted: 4 }))
    await limit({ total: 4 })
    expect(await take(back)).toEqual({ slots: 4 })
    await fixture.commit((transaction) => back.unregister(transaction))
    await session.begin()
    await fixture.tasks.expire(session.transaction, { olderThanMs: 1_000_000, then: 'ready' })
    await fixture.tasks.freeSlots(session.transaction, 1_000_000)
    await fixture.commit((transaction) => back.register(transaction))
    const taking = take(back)
    // It waits for the row that is being deleted, or has not come so far: the limit holds in either order.
    await delay(50)
    await session.commit()
    expect(await taking).toEqual({ slots: 4 })
    expect(await take(rival)).toEqual({ slots: 0 })
  })

  test('on entries of two topics that are pushed to in opposite orders ends one of the transactions with a conflict', async () => {
    const [first, second] = [fixture.topic, `${fixture.topic}-second`]
    await fixture.commit<boolean>((transaction) => fixture.tasks.initialize(transaction, second))
    for (const topic of [first, second])
      await fixture.commit((transaction) => fixture.tasks.limit(transaction, topic, { maxEntries: { count: 9 } }))
    const other = await fixture.subject.session()
    const pairs = [
      [session, first, second],
      [other, second, first],
    ] as const
    for (const [one, topic] of pairs) {
      await one.begin()
      await fixture.tasks.admit(one.transaction, topic, 1)
    }
    const outcomes = await Promise.all(
      pairs.map(async ([one, , topic]) => {
        const outcome = await codeOf(() => fixture.tasks.admit(one.transaction, topic, 1))
        await one.rollback()
        return outcome
      }),
    )
    expect(new Set(outcomes)).toEqual(new Set([undefined, 'TRANSACTION_CONFLICT']))
  })
})
