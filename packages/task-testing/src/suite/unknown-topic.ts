/** An unknown topic is not an empty one: every verb that looks for tasks names the topic in an error and says what to do. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { beforeEach, expect, test } from 'vitest'
import { codeOf, useFixture } from './fixture.ts'
import { part, testWhere } from './engine.ts'
import type { AnyTransaction, Part } from './engine.ts'

export const unknownTopic: Part = part('an unknown topic', (engine) => {
  const fixture = useFixture(engine)
  let held: HeldTask
  beforeEach(async () => {
    await fixture.push('held', 'ready')
    held = (await fixture.poll(1))[0]!
  })

  test('a topic that was never initialised is refused, and the message says how', async () => {
    const pushing = fixture.commit((transaction) => fixture.tasks.push(transaction, 'unheard-of', 'a'))
    await expect(pushing).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN', data: { topic: 'unheard-of' } })
    await expect(pushing).rejects.toThrow('initialize(transaction, "unheard-of")')
    const withId = fixture.commit((transaction) =>
      fixture.tasks.push(transaction, 'unheard-of', { identifier: 'a', externalId: 'b' }),
    )
    await expect(withId).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN' })
  })

  /** Every verb that looks for tasks of a topic. The tests call each on an unknown topic and on an empty one. */
  const looking: Readonly<Record<string, (transaction: AnyTransaction, topic: string) => unknown>> = {
    'push, superseding': (transaction, topic) => fixture.tasks.push(transaction, topic, 'a', { insertion: 'supersede' }),
    poll: (transaction, topic) => fixture.tasks.poll(transaction, topic),
    release: (transaction, topic) => fixture.tasks.promoteDue(transaction, topic),
    task: (transaction, topic) => fixture.tasks.task(transaction, topic, 1),
    'task, by external id': (transaction, topic) => fixture.tasks.task(transaction, topic, { externalId: 'a' }),
    page: (transaction, topic) => fixture.tasks.page(transaction, topic),
    'page, filtered': (transaction, topic) => fixture.tasks.page(transaction, topic, { states: ['failed'], before: 9 }),
    count: (transaction, topic) => fixture.tasks.count(transaction, { topic }),
    'count, recent': (transaction, topic) => fixture.tasks.count(transaction, { topic, recent: true }),
    purge: (transaction, topic) => fixture.tasks.purge(transaction, topic),
    purgeAll: (transaction, topic) => fixture.tasks.purgeAll(transaction, topic),
    recreate: (transaction, topic) => fixture.tasks.recreate(transaction, topic, 'append', { state: 'failed' }),
    reset: (transaction, topic) => fixture.tasks.recreate(transaction, topic, 'reset', { state: 'failed' }),
    redrive: (transaction, topic) => fixture.tasks.redrive(transaction, topic),
    'redrive, to be looked at': (transaction, topic) => fixture.tasks.redrive(transaction, topic, { dryRun: true }),
    lock: (transaction, topic) => fixture.tasks.lock(transaction, topic),
    restore: (transaction, topic) =>
      fixture.tasks.restore(transaction, topic, {
        tasks: [{ sequence: 1, state: 'failed', attempt: 1, tries: 1, priority: 0 }],
        left: { states: ['ready'] },
        made: new Date(),
      }),
    reassignAll: (transaction, topic) => fixture.tasks.reassignAll(transaction, topic, { from: 'failed', to: 'success' }),
    cancel: (transaction, topic) => fixture.tasks.cancel(transaction, topic, 1),
    'cancel, by external id': (transaction, topic) => fixture.tasks.cancel(transaction, topic, { externalId: 'a' }),
    'cancel, by identifier': (transaction, topic) => fixture.tasks.cancel(transaction, topic, { identifier: 'a' }),
    reschedule: (transaction, topic) => fixture.tasks.reschedule(transaction, topic, [1], { delayMs: 0 }),
    junction: (transaction, topic) => fixture.tasks.junction(transaction, topic, 'singular', [['a']]),
    activate: (transaction, topic) => fixture.tasks.activate(transaction, topic),
  }

  test.for(Object.entries(looking))(
    'a topic that was never initialised is refused by %s, and not taken to be empty',
    async ([, verb]) => {
      const asked = fixture.commit(async (transaction) => await verb(transaction, 'unheard-of'))
      await expect(asked).rejects.toMatchObject({ code: 'TOPIC_UNKNOWN', data: { topic: 'unheard-of' } })
      await fixture.nextTopic({ keyed: true })
      await fixture.commit(async (transaction) => await verb(transaction, fixture.topic))
    },
  )

  test('a task of a topic that was never initialised is not there because the topic is not', async () => {
    const given = { topic: 'unheard-of', sequence: 1, identifier: 'a' }
    for (const verb of [
      (transaction: AnyTransaction) => fixture.tasks.recreate(transaction, 'unheard-of', 'reset', [given]),
      (transaction: AnyTransaction) => fixture.tasks.reassign(transaction, 'unheard-of', new Map([[given, 'success']])),
    ])
      expect(await codeOf(() => fixture.commit(async (transaction) => await verb(transaction)))).toBe('TOPIC_UNKNOWN')
  })

  // Counting statements needs an adapter of the test's own between repository and driver.
  testWhere(engine.adapts !== false)('whether a topic is known is asked by itself only where nothing was found', async () => {
    let statements = 0
    const tasks = fixture.subject.tasks({
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
      await fixture.commit(async (transaction) => await work(transaction))
      return statements
    }
    const [ready] = await fixture.page()
    expect(await asked((transaction) => tasks.page(transaction, fixture.topic))).toBe(1)
    expect(await asked((transaction) => tasks.page(transaction, fixture.topic, { states: ['failed'] }))).toBe(2)
    expect(await asked((transaction) => tasks.task(transaction, fixture.topic, ready!.sequence))).toBe(1)
    expect(await asked((transaction) => tasks.count(transaction, { topic: fixture.topic, states: ['failed'] }))).toBe(1)
    expect(await asked((transaction) => tasks.promoteDue(transaction, fixture.topic))).toBe(1)
    // A page or a poll of no tasks asks nothing.
    expect(await asked((transaction) => tasks.page(transaction, fixture.topic, { size: 0 }))).toBe(0)
    expect(await asked((transaction) => tasks.poll(transaction, fixture.topic, { size: 0 }))).toBe(0)
    expect(await asked((transaction) => tasks.redrive(transaction, fixture.topic, { states: ['failed'], dryRun: true }))).toBe(2)
    await fixture.complete([held], TaskDecision.failure())
    expect(await asked((transaction) => tasks.redrive(transaction, fixture.topic, { dryRun: true }))).toBe(1)
  })
})
