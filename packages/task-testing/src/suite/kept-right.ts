/** Whatever verbs do in a topic of whatever kind, what its polls go by is right afterwards: a repair finds nothing to correct. */
import { TaskDecision } from '@taskstream/task-api'
import type {
  Cancellation,
  Expiry,
  HeldTask,
  PushedTask,
  RecreatedTask,
  Repair,
  Rescheduling,
  TopicOptions,
} from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { testClock } from '../test-clock.ts'
import { part } from './engine.ts'
import type { AnyTransaction, Part } from './engine.ts'
import { names, useFixture } from './fixture.ts'

const kinds: readonly TopicOptions[] = [
  { keyed: true },
  { order: 'lifo', keyed: true },
  { order: 'priority', keyed: true },
  { order: 'shared' },
  { condition: 'singular-by-identifier' },
  { condition: 'singular-by-identifier-suspend-on-failure' },
  { order: 'priority', condition: 'singular-by-identifier-suspend-until-success' },
]

export const keptRight: Part = part('what polls go by', (engine) => {
  const { failure, retry, success, suspension } = TaskDecision

  describe.each(kinds)('in a topic with %j', (options) => {
    const clock = testClock(new Date('2026-01-01T00:00:00.000Z'))
    const fixture = useFixture(engine, { clock: clock.now, topic: options })

    const expectRight = async (): Promise<void> => {
      const repaired = await fixture.commit<Repair>((transaction) => fixture.tasks.repair(transaction, fixture.topic))
      expect(repaired).toMatchObject({ corrected: 0, listed: 0, noted: 0, left: 0 })
    }
    const right = async (work: (transaction: AnyTransaction, topic: string) => unknown): Promise<void> => {
      await fixture.commit<unknown>((transaction) => work(transaction, fixture.topic) as unknown)
      await expectRight()
    }
    /** Polls and completes until nothing is ready. */
    const finished = async (): Promise<string[]> => {
      const done: string[] = []
      for (let held: HeldTask[]; (held = await fixture.poll(100)).length > 0;) {
        done.push(...names(held))
        await fixture.complete(held)
        await expectRight()
      }
      return done.toSorted()
    }

    test('is right after an owner has died, whether its tasks have tries left or not', async () => {
      const dying = await fixture.owner()
      await fixture.push({ identifier: 'a', maxTries: 1 }, { identifier: 'b', maxTries: 2, priority: -1 }, 'c', 'a', 'b')
      await fixture.poll(3, dying)
      clock.advance(60_000)
      await fixture.commit((transaction) => fixture.tasks.heartbeat(transaction))
      await right((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 1_000, then: 'ready' }))
      const other = await fixture.owner()
      await fixture.poll(3, other)
      await fixture.commit((transaction) => other.unregister(transaction))
      await right((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 1_000 }))
      await right((transaction, topic) => fixture.tasks.recreate(transaction, topic, 'reset', { state: 'expired', size: 9 }))
      await right((transaction, topic) => fixture.tasks.recreate(transaction, topic, 'reset', { state: 'failed', size: 9 }))
      expect(await finished()).toEqual(['a', 'a', 'b', 'b', 'c'])
    })

    test('is right after tasks were brought back, of which some superseded others', async () => {
      await fixture.push('a', { identifier: 'b', priority: -1 }, 'c')
      await fixture.complete(await fixture.poll(3), failure('no'))
      await right((transaction, topic) => fixture.tasks.push(transaction, topic, ['a', 'b', 'a']))
      await right((transaction, topic) => fixture.tasks.recreate(transaction, topic, 'append', { state: 'failed', size: 2 }))
      await right((transaction, topic) => fixture.tasks.recreate(transaction, topic, 'supersede', { state: 'failed', size: 9 }))
      expect(await fixture.states()).toMatchObject({ recreated: 3 })
      await finished()
      await fixture.push('d', 'e')
      await fixture.complete(await fixture.poll(9), failure('no'))
      await fixture.push('d')
      const found = (await fixture.page()).filter(({ state }) => state === 'failed')
      const e = found.find(({ identifier }) => identifier === 'e')
      await right(async (transaction, topic) => {
        const made = (await fixture.tasks.recreate(transaction, topic, 'append', [e!])) as RecreatedTask[]
        expect(made).toHaveLength(1)
      })
      await right((transaction, topic) => fixture.tasks.push(transaction, topic, ['d', 'd', 'e'], { insertion: 'replace' }))
      await right((transaction, topic) => fixture.tasks.push(transaction, topic, ['e'], { insertion: 'delete' }))
      expect((await finished()).filter((name) => name === 'd' || name === 'e')).toEqual(['d', 'e'])
    })

    test('is right where two of an identifier are brought back, and only the last counts', async () => {
      for (const _ of [1, 2]) {
        await fixture.push('a')
        const held = await fixture.poll(9)
        await fixture.complete(held, success())
      }
      await right((transaction, topic) =>
        fixture.tasks.recreate(transaction, topic, 'supersede', { state: 'succeeded', size: 9 }),
      )
      expect(await fixture.states()).toEqual({ recreated: 2, redundant: 1, ready: 1 })
      expect(await finished()).toEqual(['a'])
    })

    test('is right after tasks were taken back, handed back, put off, cancelled, given another result or made ready', async () => {
      await fixture.push('a', 'b', 'c', { identifier: 'd', suspended: true }, { identifier: 'e', delayMs: 1_000 }, 'a', 'd', 'e')
      await fixture.poll(2)
      await right((transaction, topic) => fixture.tasks.reclaim(transaction, topic, []))
      const held = await fixture.poll(2)
      await right((transaction, topic) => fixture.tasks.handBack(transaction, topic, [held[0]!]))
      await right((transaction, topic) =>
        fixture.tasks.complete(transaction, topic, new Map([[held[1]!, retry({ afterMs: 1_000 })]])),
      )
      const [first] = await fixture.poll(1)
      await right((transaction, topic) => fixture.tasks.complete(transaction, topic, new Map([[first!, suspension()]])))
      await right((transaction, topic) => fixture.tasks.reassign(transaction, topic, new Map([[first!, 'success' as const]])))
      await right((transaction, topic) => fixture.tasks.junction(transaction, topic, 'singular', [['d']]))
      clock.advance(1_000)
      await right((transaction, topic) => fixture.tasks.promoteDue(transaction, topic))
      const ready = (await fixture.page()).find(({ state }) => state === 'ready')
      await right((transaction, topic) => fixture.tasks.reschedule(transaction, topic, ready!.sequence, { delayMs: 60_000 }))
      await right((transaction, topic) =>
        fixture.tasks.reschedule(transaction, topic, ready!.sequence, { delayMs: 0, priority: -3 }),
      )
      await right((transaction, topic) => fixture.tasks.cancel(transaction, topic, ready!.sequence))
      expect(await finished()).toHaveLength(6)
      expect(await fixture.states()).toEqual({ succeeded: 7, filtered: 1 })
    })

    test.each(['active', 'expired'] as const)(
      'is right after all tasks of an identifier were cancelled, one of them %s',
      async (first) => {
        const { tasks, commit, topic } = fixture
        await fixture.push('a')
        const by = await fixture.owner()
        await fixture.poll(1, by)
        if (first === 'expired') {
          await commit((transaction) => by.unregister(transaction))
          await commit((transaction) => tasks.expire(transaction, { olderThanMs: 60_000 }))
        }
        await fixture.push('a', { identifier: 'a', priority: -1 }, { identifier: 'a', suspended: true }, 'b')
        await fixture.push({ identifier: 'a', delayMs: 5 })
        expect(await fixture.states()).toEqual({ [first]: 1, ready: 3, suspended: 1, delayed: 1 })
        const cancelled = await commit<Cancellation>((transaction) => tasks.cancel(transaction, topic, { identifier: 'a' }))
        expect(cancelled.cancelled).toHaveLength(5)
        await expectRight()
        expect(await finished()).toEqual(['b'])
      },
    )

    test('is right after tasks were given another time or priority, each alone', async () => {
      const [later, low, ready] = await fixture.push(
        { identifier: 'a', delayMs: 5_000 },
        { identifier: 'b', priority: -1 },
        { identifier: 'c', priority: 1 },
      )
      const to = (task: PushedTask, rescheduling: Rescheduling): Promise<void> =>
        right((transaction, topic) => fixture.tasks.reschedule(transaction, topic, task.sequence, rescheduling))
      await to(later!, { priority: -2 })
      await to(low!, { delayMs: 0 })
      await to(ready!, { priority: -2 })
      await to(low!, { priority: 2 })
      await to(ready!, { deadlineMs: 60_000 })
      await to(later!, { deadlineMs: 60_000 })
      await to(later!, { delayMs: 0 })
      expect(await finished()).toEqual(['a', 'b', 'c'])
    })

    test('is right after tasks were filtered because they were late, or could not be reached', async () => {
      await fixture.push({ identifier: 'a', deadlineMs: 10 }, 'a', { identifier: 'b', deadlineMs: 10, priority: -1 }, 'b')
      const [needing] = await fixture.push({ identifier: 'c', suspended: true }, 'c')
      await right((transaction, topic) =>
        fixture.tasks.depend(transaction, needing!, [{ need: 'x', on: { topic, sequence: 0 } }]),
      )
      clock.advance(11)
      await right((transaction, topic) => fixture.tasks.poll(transaction, topic, { size: 1 }))
      await fixture.commit((transaction) => fixture.tasks.reclaim(transaction, fixture.topic, []))
      await right((transaction, topic) => fixture.tasks.settle(transaction, topic))
      await finished()
      expect(await fixture.states()).toMatchObject({ filtered: 2, failed: 1 })
      const expiry = await fixture.commit<Expiry>((transaction) => fixture.tasks.expire(transaction, { olderThanMs: 60_000 }))
      expect(expiry.expired).toBe(0)
      await right((transaction, topic) => fixture.tasks.purge(transaction, topic, { states: ['failed'] }))
      await finished()
      expect(await fixture.states()).toEqual({ filtered: 2, succeeded: 3 })
    })
  })
})
