/** When a task ends, the next task of its identifier can be polled. A task that is redundant from the start blocks no other. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, Repair, TopicOptions } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { openFixture, whileTested } from '@taskstream/task-testing/suite'

const right = { corrected: 0, listed: 0, noted: 0, held: 0, left: 0 }

describe.skipIf(!canRun)('the turn of another task', () => {
  const fixture = whileTested(() => openFixture(engine))
  const repair = (): Promise<Repair> => fixture.commit<Repair>((transaction) => fixture.tasks.repair(transaction, fixture.topic))
  const inputs = async (): Promise<unknown[]> => (await fixture.poll(9)).map(({ input }) => input)

  const letGo: Readonly<Record<string, (transaction: AnyTransaction, held: readonly HeldTask[]) => unknown>> = {
    'handed back': (transaction, held) => fixture.tasks.handBack(transaction, fixture.topic, held),
    reclaimed: (transaction) => fixture.tasks.reclaim(transaction, fixture.topic, []),
    completed: (transaction, held) =>
      fixture.tasks.complete(transaction, fixture.topic, new Map(held.map((task) => [task, TaskDecision.success()]))),
  }
  test.each(Object.keys(letGo))('comes where the last is first, once the one before it is %s', async (name) => {
    await fixture.nextTopic({ condition: 'singular-by-identifier', order: 'lifo' })
    await fixture.push({ identifier: 'a', input: 'first' })
    const held = await fixture.poll(1)
    await fixture.push({ identifier: 'a', input: 'last' })
    expect(await inputs()).toEqual([])
    await fixture.commit<unknown>((transaction) => letGo[name]!(transaction, held))
    expect(await inputs()).toEqual(['last'])
  })

  const topics: readonly TopicOptions[] = [
    { keyed: true },
    { keyed: true, order: 'priority' },
    { condition: 'singular-by-identifier' },
  ]
  test.each(topics)(
    'is not put off by those that a push or a revival made redundant at once, in a topic of %o',
    async (options) => {
      for (const insertion of ['supersede', 'replace'] as const) {
        await fixture.nextTopic(options)
        const { tasks, topic, commit } = fixture
        const creations = ['1', '2', '3'].map((input) => ({ identifier: 'a', input }))
        await commit((transaction) => tasks.push(transaction, topic, creations, { insertion }))
        expect(await repair()).toMatchObject(right)
        expect(await inputs()).toEqual(['3'])

        await fixture.nextTopic(options)
        await fixture.push(...creations)
        for (let ended = 0; ended < 3;) {
          const batch = await fixture.poll(9)
          await fixture.complete(batch, TaskDecision.failure())
          ended += batch.length
        }
        await commit((transaction) => tasks.recreate(transaction, fixture.topic, insertion, { state: 'failed', size: 9 }))
        expect(await repair()).toMatchObject(right)
        expect(await inputs()).toEqual(['3'])
      }
    },
  )

  test('does not come by a junction while it waits for its time, though another of its identifier has met', async () => {
    await fixture.nextTopic({ keyed: true })
    await fixture.push(
      { identifier: 'a', input: 'aside', suspended: true },
      { identifier: 'a', input: 'delayed', delayMs: 3_600_000 },
    )
    await fixture.commit((transaction) => fixture.tasks.junction(transaction, fixture.topic, 'singular', [['a']]))
    expect(await inputs()).toEqual(['aside'])
    expect(await fixture.states()).toEqual({ active: 1, delayed: 1 })
  })
})
