/** The event loop runs between tasks, however much work there is and however fast the database answers. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskCreation } from '@taskstream/task-api'
import { PeriodicScheduler, periodicTasks } from '@taskstream/task-scheduler'
import { testClock } from '@taskstream/task-testing'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

describe.skipIf(!canRun)('the event loop turns', () => {
  const fixture = useNodeFixture('turns')

  /** Counts turns of the event loop. Each call of `done` notes the count in `seen`. */
  const turning = (): { readonly seen: readonly number[]; done(): void } => {
    let turns = 0
    const seen: number[] = []
    return { seen, done: () => (seen.push(turns), void setImmediate(() => turns++)) }
  }

  test.each(['leased', 'transactional'] as const)('between the batches of a busy topic, in %s mode', async (mode) => {
    await fixture.push(...Array.from({ length: 30 }, (_, index) => `task ${index}`))
    const { seen, done } = turning()
    const { node } = fixture.clocked()
    await using _ = node
    const handler = (batch: readonly HeldTask[]): Map<HeldTask, TaskDecision> => {
      done()
      return new Map(batch.map((task) => [task, TaskDecision.success()]))
    }
    node.process(fixture.topic, { mode, size: 1, concurrency: 1, handler })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 30 })
    // The loop turns between any two batches, except before one that may be polled ahead.
    for (const [index, turns] of seen.entries()) expect(turns).toBeGreaterThanOrEqual(index - 1)
  })

  test.each(['expired', 'purged'] as const)('between the portions in which tasks are %s', async (how) => {
    const { seen, done } = turning()
    const { clock, tasks, node } = fixture.clocked({ maintenanceIntervalMs: 86_400_000 }, (own) => ({
      ...own,
      expire: (...args: Parameters<typeof own.expire>) => (done(), own.expire(...args)),
      purge: (...args: Parameters<typeof own.purge>) => (done(), own.purge(...args)),
    }))
    await using _ = node
    const dead = fixture.subject.tasks({ clock: clock.now })
    await fixture.commit(async (transaction) => {
      await dead.register(transaction)
      const names: TaskCreation[] = Array.from({ length: 2_500 }, (__, index) => ({ identifier: `task ${index}` }))
      await tasks.push(transaction, fixture.topic, names)
      const held: HeldTask[] = await dead.poll(transaction, fixture.topic, { size: 2_500 })
      if (how === 'expired') await dead.unregister(transaction)
      else await dead.complete(transaction, fixture.topic, new Map(held.map((task) => [task, TaskDecision.success()])))
    })
    const retainMs = how === 'purged' ? { succeeded: 0 } : {}
    node.process(fixture.topic, { activation: 'inactive', retainMs, handler: () => new Map() })
    clock.advance(1)
    await node.start()
    await expect.poll(fixture.states).toEqual(how === 'purged' ? {} : { ready: 2_500 })
    expect(seen.length).toBeGreaterThan(2)
    expect(seen.at(-1)).toBeGreaterThan(1)
  })

  test('between the portions in which a scheduler makes up for what was missed', async () => {
    const { seen, done } = turning()
    const { subject, topic } = fixture
    const clock = testClock(new Date('2026-01-01'))
    const repository = subject.tasks({ clock: clock.now })
    await subject.transactions(async (transaction: AnyTransaction) => {
      await periodicTasks(repository).schedule(transaction, { id: topic, topic, timer: '*:*:*', misfire: 'catch-up' })
    })
    clock.advance(1_000_000)
    let fired = 0
    await using scheduler = new PeriodicScheduler<AnyTransaction>({
      repository,
      clock,
      transactions: (work, options) => (done(), subject.transactions(work, options)),
      listener: { onFired: () => void fired++ },
    })
    await scheduler.start()
    await expect.poll(() => fired).toBe(1_000)
    expect(seen.length).toBeGreaterThan(10)
    // The first look is part of the start.
    for (const [index, turns] of seen.entries()) expect(turns).toBeGreaterThanOrEqual(index - 2)
  })
})
