/** An unknown topic is not an empty one: every verb that looks for tasks says which topic it is, and what to do. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { codeOf, openFixture } from './fixture.ts'
import type { Fixture } from './fixture.ts'

describe.skipIf(!canRun)('an unknown topic', () => {
  let it: Fixture
  let held: HeldTask
  beforeAll(async () => void (it = await openFixture()))
  afterAll(() => it[Symbol.asyncDispose]())
  beforeEach(async () => {
    await it.nextTopic()
    await it.push('held', 'ready')
    held = (await it.poll(1))[0]!
  })

  test('a topic that was never initialised is refused, and the message says how', async () => {
    const pushing = it.commit((transaction) => it.tasks.push(transaction, 'unheard-of', 'a'))
    await expect(pushing).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN', data: { topic: 'unheard-of' } })
    await expect(pushing).rejects.toThrow('initialize(transaction, "unheard-of")')
    const withId = it.commit((transaction) => it.tasks.push(transaction, 'unheard-of', { identifier: 'a', externalId: 'b' }))
    await expect(withId).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN' })
  })

  /** Every verb that looks for tasks of a topic, and what it answers where there are none. */
  const looking: Readonly<Record<string, (transaction: AnyTransaction, topic: string) => unknown>> = {
    'push, superseding': (transaction, topic) => it.tasks.push(transaction, topic, 'a', { insertion: 'supersede' }),
    poll: (transaction, topic) => it.tasks.poll(transaction, topic),
    release: (transaction, topic) => it.tasks.release(transaction, topic),
    task: (transaction, topic) => it.tasks.task(transaction, topic, 1),
    'task, by external id': (transaction, topic) => it.tasks.task(transaction, topic, { externalId: 'a' }),
    page: (transaction, topic) => it.tasks.page(transaction, topic),
    'page, filtered': (transaction, topic) => it.tasks.page(transaction, topic, { states: ['failed'], before: 9 }),
    count: (transaction, topic) => it.tasks.count(transaction, { topic }),
    'count, recent': (transaction, topic) => it.tasks.count(transaction, { topic, recent: true }),
    purge: (transaction, topic) => it.tasks.purge(transaction, topic),
    purgeAll: (transaction, topic) => it.tasks.purgeAll(transaction, topic),
    recreate: (transaction, topic) => it.tasks.recreate(transaction, topic, 'append', { state: 'failed' }),
    reset: (transaction, topic) => it.tasks.recreate(transaction, topic, 'reset', { state: 'failed' }),
    redrive: (transaction, topic) => it.tasks.redrive(transaction, topic),
    'redrive, to be looked at': (transaction, topic) => it.tasks.redrive(transaction, topic, { dryRun: true }),
    reassignAll: (transaction, topic) => it.tasks.reassignAll(transaction, topic, { from: 'failed', to: 'success' }),
    junction: (transaction, topic) => it.tasks.junction(transaction, topic, 'singular', [['a']]),
    activate: (transaction, topic) => it.tasks.activate(transaction, topic),
  }

  test.for(Object.entries(looking))(
    'a topic that was never initialised is refused by %s, and not taken to be empty',
    async ([, verb]) => {
      const asked = it.commit(async (transaction) => await verb(transaction, 'unheard-of'))
      await expect(asked).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN', data: { topic: 'unheard-of' } })
      await it.nextTopic({ keyed: true })
      await it.commit(async (transaction) => await verb(transaction, it.topic))
    },
  )

  test('a task of a topic that was never initialised is not there because the topic is not', async () => {
    const given = { topic: 'unheard-of', sequence: 1, identifier: 'a' }
    for (const verb of [
      (transaction: AnyTransaction) => it.tasks.recreate(transaction, 'unheard-of', 'reset', [given]),
      (transaction: AnyTransaction) => it.tasks.reassign(transaction, 'unheard-of', new Map([[given, 'success']])),
    ])
      expect(await codeOf(() => it.commit(async (transaction) => await verb(transaction)))).toBe('TOPIC_UNKNOWN')
  })

  // Where a suite cannot stand between a repository and its driver, it cannot count statements.
  const countable = ['sqlite-memory', 'sqlite-file', 'node-sqlite', 'postgres', 'mariadb', 'mysql', 'oracle']
  testOn(countable)('whether a topic is known is asked by itself only where nothing was found', async () => {
    let statements = 0
    const tasks = it.subject.tasks({
      adapt: (adapter) =>
        ({
          ...adapter,
          execute: (...given: Parameters<typeof adapter.execute>) => {
            statements++
            return adapter.execute(...given)
          },
        }) as typeof adapter,
    })
    const asked = async (work: (transaction: AnyTransaction) => unknown): Promise<number> => {
      statements = 0
      await it.commit(async (transaction) => await work(transaction))
      return statements
    }
    const [ready] = await it.page()
    expect(await asked((transaction) => tasks.page(transaction, it.topic))).toBe(1)
    expect(await asked((transaction) => tasks.page(transaction, it.topic, { states: ['failed'] }))).toBe(2)
    expect(await asked((transaction) => tasks.task(transaction, it.topic, ready!.sequence))).toBe(1)
    expect(await asked((transaction) => tasks.count(transaction, { topic: it.topic, states: ['failed'] }))).toBe(1)
    expect(await asked((transaction) => tasks.release(transaction, it.topic))).toBe(1)
    expect(await asked((transaction) => tasks.redrive(transaction, it.topic, { states: ['failed'], dryRun: true }))).toBe(2)
    await it.complete([held], TaskDecision.failure())
    expect(await asked((transaction) => tasks.redrive(transaction, it.topic, { dryRun: true }))).toBe(1)
  })
})
