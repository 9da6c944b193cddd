/** Maintenance expires dead owners and purges, in portions until all is done. It forgets owners after a day of silence. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const hour = 3_600_000
/** Intervals so long that nothing comes by itself unless the test moves the clock. */
const seldom = { heartbeatIntervalMs: 6 * hour, leaseMs: 48 * hour, maintenanceIntervalMs: 24 * hour }
const handler = (): Map<HeldTask, TaskDecision> => new Map()

describe.skipIf(!canRun)('maintenance', () => {
  const fixture = useNodeFixture('kept')

  /** Pushes tasks, which an owner polls and perhaps completes before it leaves. */
  const pushOf = async (tasks: Tasks, count: number, how: 'held' | 'done'): Promise<void> => {
    await fixture.commit(async (transaction: AnyTransaction) => {
      await tasks.register(transaction)
      await tasks.push(
        transaction,
        fixture.topic,
        Array.from({ length: count }, (_, index) => `task ${index}`),
      )
      const held: HeldTask[] = await tasks.poll(transaction, fixture.topic, { size: count })
      if (how === 'done')
        await tasks.complete(transaction, fixture.topic, new Map(held.map((task) => [task, TaskDecision.success()])))
      await tasks.unregister(transaction)
    })
  }

  test.each([2_500, 2_000, 999])('takes %i tasks from a dead owner in one go, a thousand in each transaction', async (count) => {
    const portions: number[] = []
    const { clock, node } = fixture.clocked(seldom, (own) => ({
      ...own,
      expire: (async (...args: Parameters<Tasks['expire']>) => {
        const expiry = await own.expire(...args)
        portions.push(expiry.ready)
        return expiry
      }) as unknown as Tasks['expire'],
    }))
    await using _ = node
    await pushOf(fixture.subject.tasks({ clock: clock.now }), count, 'held')
    await node.start()
    await expect.poll(fixture.states).toEqual({ ready: count })
    expect(portions.filter((ready) => ready > 0)).toEqual(
      Array.from({ length: Math.ceil(count / 1_000) }, (__, index) => Math.min(1_000, count - index * 1_000)),
    )
  })

  test('purges 2500 tasks in one go, a thousand in each transaction', async () => {
    const portions: number[] = []
    const { clock, node } = fixture.clocked(seldom, (own) => ({
      ...own,
      purge: (async (...args: Parameters<Tasks['purge']>) => {
        const purged = await own.purge(...args)
        portions.push(purged)
        return purged
      }) as unknown as Tasks['purge'],
    }))
    await using _ = node
    await pushOf(fixture.subject.tasks({ clock: clock.now }), 2_500, 'done')
    clock.advance(1)
    node.process(fixture.topic, { handler, activation: 'inactive', retainMs: { succeeded: 0 } })
    await node.start()
    await expect.poll(fixture.states).toEqual({})
    expect(portions).toEqual([1_000, 1_000, 500])
  })

  /** Whether an owner is still known. The heartbeat that asks does not renew it, as the owner's clock stands still. */
  const isKnown = (tasks: Tasks): Promise<boolean> =>
    fixture
      .commit(async (transaction) => await tasks.heartbeat(transaction))
      .then(
        () => true,
        () => false,
      )

  test('forgets an owner that has been silent for a day, and looks for such again and again', async () => {
    let looked = 0
    const { clock, node } = fixture.clocked(
      { ...seldom, leaseMs: 6 * hour, heartbeatIntervalMs: hour, maintenanceIntervalMs: hour },
      (own) => ({
        ...own,
        purgeOwners: (async (...args: Parameters<Tasks['purgeOwners']>) => {
          const purged = await own.purgeOwners(...args)
          looked++
          return purged
        }) as unknown as Tasks['purgeOwners'],
      }),
    )
    await using _ = node
    const silent = async (hours: number): Promise<Tasks> => {
      const at = new Date(clock.now().getTime() - hours * hour)
      const tasks = fixture.subject.tasks({ clock: () => at })
      await fixture.commit((transaction) => tasks.register(transaction))
      return tasks
    }
    const [day, almost] = [await silent(24.5), await silent(22.5)]
    await node.start()
    await expect.poll(() => looked).toBe(1)
    expect([await isKnown(day), await isKnown(almost)]).toEqual([false, true])
    await expect.poll(async () => (clock.advance(hour / 3), await isKnown(almost))).toBe(false)
    expect(22.5 * hour + clock.monotonicMs()).toBeGreaterThanOrEqual(24 * hour)
  })

  test('does not look for silent owners more often than every ten minutes', async () => {
    const looks: number[] = []
    const { clock, node } = fixture.clocked(
      { heartbeatIntervalMs: 5_000, leaseMs: 48 * hour, maintenanceIntervalMs: 60_000 },
      (own) => ({
        ...own,
        purgeOwners: ((...args: Parameters<Tasks['purgeOwners']>) => {
          looks.push(clock.monotonicMs())
          return own.purgeOwners(...args)
        }) as unknown as Tasks['purgeOwners'],
      }),
    )
    await using _ = node
    await node.start()
    await expect.poll(() => (clock.advance(60_000), looks.length)).toBe(4)
    for (const [index, at] of looks.slice(1).entries()) expect(at - looks[index]!).toBeGreaterThanOrEqual(600_000)
  })

  test('forgets nobody who may be alive by a lease of days', async () => {
    let looked = 0
    const { clock, node } = fixture.clocked({ ...seldom, leaseMs: 72 * hour }, (own) => ({
      ...own,
      purgeOwners: (async (...args: Parameters<Tasks['purgeOwners']>) => {
        const purged = await own.purgeOwners(...args)
        looked++
        return purged
      }) as unknown as Tasks['purgeOwners'],
    }))
    await using _ = node
    const at = new Date(clock.now().getTime() - 71 * hour)
    const quiet = fixture.subject.tasks({ clock: () => at })
    await fixture.commit((transaction) => quiet.register(transaction))
    await node.start()
    await expect.poll(() => looked).toBe(1)
    expect(await isKnown(quiet)).toBe(true)
  })
})
