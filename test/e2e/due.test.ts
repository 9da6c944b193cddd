/** Delayed tasks are found when they are due, whether their node is sleeping or at work without a pause. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TaskNotifier } from '@taskstream/task-api'
import { eachTask, localNotifier } from '@taskstream/task-processor'
import type { TaskNode } from '@taskstream/task-processor'
import { openBetterSqlite3, sqliteListener } from '@taskstream/task-sql/better-sqlite3'
import { pgListener } from '@taskstream/task-sql/pg'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { useNodeFixture } from './fixture.ts'
import type { NodeOptions } from './fixture.ts'
import { watchedClock } from './watched-clock.ts'
import type { WatchedClock } from './watched-clock.ts'

const aDay = 86_400_000
/** Intervals so long that heartbeats and maintenance never come during a test. */
const patient = { heartbeatIntervalMs: aDay, leaseMs: 3 * aDay, maintenanceIntervalMs: aDay }

describe.skipIf(!canRun)('a due task', () => {
  const fixture = useNodeFixture('due')

  interface Clocked {
    readonly clock: WatchedClock
    readonly tasks: Tasks
    readonly node: TaskNode<AnyTransaction>
  }
  const clocked = (options: NodeOptions = {}): Clocked => {
    const clock = watchedClock()
    const tasks = fixture.subject.tasks({ clock: clock.now })
    return { clock, tasks, node: fixture.nodeOf({ ...patient, repository: tasks, clock, ...options }) }
  }
  const pushLater = ({ tasks }: Clocked): Promise<unknown> =>
    fixture.commit((transaction) => tasks.push(transaction, fixture.topic, { identifier: 'soon', delayMs: 5 }))

  /** Expects that `pushed` wakes a sleeping node, which then handles a task when it is due, after five milliseconds. */
  const wakesFor = async (options: NodeOptions, pushed: (clocked: Clocked) => Promise<unknown>): Promise<void> => {
    let empty = 0
    const sleeping = clocked({ ...options, listener: { onEmpty: () => void empty++ } })
    const { clock, node } = sleeping
    await using _ = node
    const handledAt: number[] = []
    node.process(fixture.topic, { idleMs: aDay, handler: eachTask(() => void handledAt.push(clock.monotonicMs())) })
    await node.start()
    // On SQLite any commit of another connection wakes the node, also that of its own report.
    await expect.poll(() => empty).toBeGreaterThan(0)
    // The clock stands still, so only a notification can end the sleep.
    await pushed(sleeping)
    await expect.poll(() => clock.pauses).toContain(5)
    clock.advance(5)
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
    expect(handledAt).toEqual([5])
  }

  test('that is submitted wakes its node, which then sleeps no longer than until it is due', () =>
    wakesFor({}, ({ node }) => node.submit(fixture.topic, { identifier: 'soon', delayMs: 5 })))

  test('of which a notifier tells wakes its node, which then sleeps no longer than until it is due', async () => {
    const notifier = localNotifier()
    await wakesFor({ notifier }, async (sleeping) => {
      await pushLater(sleeping)
      notifier.notify(fixture.topic)
    })
  })

  testOn(['postgres-18', 'postgres-15', 'postgres-partitioned', 'sqlite-file'])(
    'that another connection pushes wakes its node, which then sleeps no longer than until it is due',
    async () => {
      const { at } = fixture.subject.location
      const notifier: TaskNotifier =
        fixture.subject.engine === 'postgres'
          ? pgListener(() => new pg.Client({ connectionString: at }))
          : sqliteListener(await openBetterSqlite3(at), { everyMs: 5 })
      await wakesFor({ notifier }, pushLater)
    },
  )

  test('of which nobody told, and which a node finds when it is woken for something else, is handled at once', async () => {
    let empty = 0
    const sleeping = clocked({ listener: { onEmpty: () => void empty++ } })
    const { clock, node } = sleeping
    await using _ = node
    node.process(fixture.topic, { idleMs: aDay, handler: eachTask(() => {}) })
    await node.start()
    await expect.poll(() => clock.pauses.length > 0 && empty).toBe(1)
    await pushLater(sleeping)
    // The node would look by itself only after its first sleep, which is far longer.
    clock.advance(5)
    node.wake(fixture.topic)
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
    expect(clock.monotonicMs()).toBe(5)
  })

  test.each(['leased', 'transactional'] as const)('is found in a topic that always has ready ones, in %s mode', async (mode) => {
    let empty = 0
    let begun = 0
    const handled: string[] = []
    const busy = clocked({ listener: { onEmpty: () => void empty++ } })
    const { clock, tasks, node } = busy
    await using _ = node
    node.process(fixture.topic, {
      mode,
      size: 1,
      concurrency: 1,
      idleMs: aDay,
      handler: async ([task], { complete }) => {
        begun++
        // Until the due task is handled, another task is ready before each one is done.
        await complete(async (transaction: AnyTransaction, held: readonly HeldTask[]) => {
          if (task!.identifier === 'busy' && !handled.includes('later')) await tasks.push(transaction, fixture.topic, 'busy')
          return new Map(held.map((each) => [each, TaskDecision.success()]))
        })
        handled.push(task!.identifier)
      },
    })
    await node.start()
    // The node has looked for due tasks, and there was none to wait for.
    await expect.poll(() => clock.pauses.length > 0 && empty).toBe(1)
    await node.submit(fixture.topic, 'busy')
    await expect.poll(() => handled.length).toBeGreaterThan(3)
    await fixture.commit((transaction) => tasks.push(transaction, fixture.topic, { identifier: 'later', delayMs: 1_000 }))
    const before = begun
    await expect.poll(() => begun).toBeGreaterThan(before + 1)
    expect([handled.includes('later'), empty]).toEqual([false, 1])
    clock.advance(1_000)
    await expect.poll(() => handled).toContain('later')
  })
})
