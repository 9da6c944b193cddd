/** The maintenance of a node does all its work, in portions, and no sooner than it should. */
import { TaskDecision } from '@taskstream/task-api'
import type { Expiry, TaskOwner } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import type { TaskNode } from '@taskstream/task-processor'
import type { TestClock } from '@taskstream/task-testing'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'
import type { NodeOptions } from './fixture.ts'

const hour = 3_600_000
/** Intervals so long that nothing comes by itself except the maintenance at the start of a node. */
const patient = { heartbeatIntervalMs: 6 * hour, leaseMs: 20 * hour, maintenanceIntervalMs: 6 * hour }
/** Two portions and a half. */
const many = 2_500

describe.skipIf(!canRun)('maintenance', () => {
  const fixture = useNodeFixture('maintenance')

  /** Returns a node, and notes what its repository answers. */
  const watched = (
    options: NodeOptions = {},
  ): {
    clock: TestClock
    tasks: Tasks
    node: TaskNode<AnyTransaction>
    asked: Record<'expire' | 'purge' | 'forget', unknown[]>
  } => {
    const asked = { expire: [] as unknown[], purge: [] as unknown[], forget: [] as unknown[] }
    const noting = <Arguments extends readonly unknown[], Result>(
      answers: unknown[],
      verb: (...args: Arguments) => Result,
    ): ((...args: Arguments) => Result) => {
      return (...args) => {
        const answer = verb(...args)
        answers.push(answer)
        return answer
      }
    }
    const made = fixture.clocked({ ...patient, ...options }, (tasks) => ({
      ...tasks,
      expire: noting(asked.expire, tasks.expire),
      purge: noting(asked.purge, tasks.purge),
      purgeOwners: noting(asked.forget, tasks.purgeOwners),
    }))
    return { ...made, asked }
  }
  const commit = <Result>(work: (transaction: AnyTransaction) => unknown): Promise<Result> =>
    fixture.commit<Result>((transaction) => work(transaction) as Result)
  const pushMany = (): Promise<unknown> => fixture.push(...Array.from({ length: many }, (_, index) => `t${index}`))
  /** Pushes tasks, which an owner that goes by this clock polls before it leaves. */
  const abandonMany = async (clock: TestClock): Promise<void> => {
    const rival = fixture.subject.tasks({ clock: clock.now })
    await commit((transaction) => rival.register(transaction))
    await pushMany()
    expect(await fixture.poll(many, rival)).toHaveLength(many)
    await commit((transaction) => rival.unregister(transaction))
  }

  test.each(['ready', 'expired'] as const)("takes all of a dead owner's thousands at once, in portions: %s", async (expireTo) => {
    const { clock, node, asked } = watched({ expireTo })
    await abandonMany(clock)
    await using _ = node
    await node.start()
    // Maintenance forgets owners only after it has expired all tasks.
    await expect.poll(() => asked.forget.length).toBe(1)
    const expiries = (await Promise.all(asked.expire)) as Expiry[]
    expect(expiries.map((expiry) => expiry[expireTo])).toEqual([1_000, 1_000, 500])
    expect(await fixture.states()).toEqual({ [expireTo]: many })
  })

  test('purges all that is old enough at once, in portions, each state by its own time', async () => {
    const { clock, node, asked } = watched()
    const worker = fixture.subject.tasks({ clock: clock.now })
    await commit((transaction) => worker.register(transaction))
    await fixture.push('failed')
    await pushMany()
    const [failed, ...others] = await fixture.poll(many + 1, worker)
    const decisions = new Map(others.map((task) => [task, TaskDecision.success()]))
    decisions.set(failed!, TaskDecision.failure())
    await commit((transaction) => worker.complete(transaction, fixture.topic, decisions))
    clock.advance(hour)
    node.process(fixture.topic, { handler: eachTask(() => {}), retainMs: { succeeded: hour, failed: hour + 1 } })
    await using _ = node
    await node.start()
    await expect.poll(() => asked.forget.length).toBe(1)
    expect(await Promise.all(asked.purge)).toEqual([1_000, 1_000, 500, 0])
    expect(await fixture.states()).toEqual({ failed: 1 })
  })

  test.each([
    ['a day', hour, 24 * hour],
    ['two leases, where that is longer', 20 * hour, 40 * hour],
  ])(
    'forgets owners that have been silent for longer than %s, and takes their tasks back all the same',
    async (_, leaseMs, silentMs) => {
      const { clock, tasks, node, asked } = watched({
        leaseMs,
        heartbeatIntervalMs: leaseMs / 4,
      })
      const rival = fixture.subject.tasks({ clock: clock.now })
      await commit((transaction) => rival.register(transaction))
      const isKnown = async (): Promise<boolean> => {
        const owners = await commit<TaskOwner[]>((transaction) => tasks.owners(transaction, 100 * hour))
        return owners.some(({ owner }) => owner === rival.owner)
      }
      await fixture.push('a')
      await fixture.poll(1, rival)
      clock.advance(silentMs)
      await node.start()
      await expect.poll(() => asked.forget.length).toBe(1)
      // The stop lets the maintenance end.
      await node.stop()
      expect(await fixture.states()).toEqual({ ready: 1 })
      expect(await isKnown()).toBe(true)
      clock.advance(1)
      const repository = fixture.subject.tasks({ clock: clock.now })
      await using next = fixture.nodeOf({ ...patient, leaseMs, heartbeatIntervalMs: leaseMs / 4, repository, clock })
      await next.start()
      await expect.poll(isKnown).toBe(false)
    },
  )
})
