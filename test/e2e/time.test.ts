/** A node acts in time: it wakes for due tasks, and ends handlers that take too long. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask, TransactionSource } from '@taskstream/task-api'
import { eachTask, exponential } from '@taskstream/task-processor'
import type { HandlerContext } from '@taskstream/task-processor'
import { testClock } from '@taskstream/task-testing'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'
import type { NodeOptions } from './fixture.ts'

const hour = 3_600_000

/** Intervals so long that the lease holds when a test moves the clock by hours. */
const patient = { heartbeatIntervalMs: 6 * hour, leaseMs: 48 * hour, maintenanceIntervalMs: 6 * hour }

/** Rejects when the signal is aborted, as a well-behaved handler does. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
}

/** Timers go by the test's clock only: what happens while it stands needs no timer. */
describe.skipIf(!canRun)('a node in time', () => {
  const fixture = useNodeFixture('time')

  /** Returns the transactions of the subject. Each first waits for `allow`, which may throw. */
  const guarded =
    (allow: () => void | Promise<void>): TransactionSource<AnyTransaction> =>
    async (work) => {
      await allow()
      return fixture.commit(work)
    }

  test('wakes for the next due task of a topic, however long it may sleep', async () => {
    let empty = 0
    let wakesAt = 0
    let dueAt = 0
    const handled: number[] = []
    const clock = testClock(new Date())
    const tasks = fixture.subject.tasks({ clock: clock.now })
    await using node = fixture.nodeOf({
      ...patient,
      repository: tasks,
      clock: {
        ...clock,
        after: (ms, callback) => {
          if (ms > hour / 2 && ms <= hour) wakesAt = clock.monotonicMs() + ms
          // A report that follows another one at once waits for nothing.
          if (ms > 0 && ms <= 1_000) dueAt = clock.monotonicMs() + ms
          return clock.after(ms, callback)
        },
      },
      listener: { onEmpty: () => void empty++ },
    })
    node.process(fixture.topic, { idleMs: hour, handler: eachTask(() => void handled.push(clock.monotonicMs())) })
    await node.start()
    // Each pause is about twice the last, and the longest are three quarters of an hour at least.
    const isAsleep = (): boolean => wakesAt > clock.monotonicMs()
    await expect.poll(() => isAsleep() || (clock.advance(hour), false)).toBe(true)
    const [pushed, before] = [clock.monotonicMs(), empty]
    await fixture.commit((transaction) => tasks.push(transaction, fixture.topic, { identifier: 'a', delayMs: hour + 1_000 }))
    clock.advance(hour)
    await expect.poll(() => empty).toBeGreaterThan(before)
    // The listener hears of an empty poll before the node has asked what is due next.
    await expect.poll(() => dueAt).toBe(pushed + hour + 1_000)
    expect(handled).toEqual([])
    clock.advance(1_000)
    await expect.poll(() => handled).toEqual([pushed + hour + 1_000])
  })

  test('never loses a wake-up that comes between an empty poll and the sleep', async () => {
    let polls = 0
    const { node } = fixture.clocked({
      listener: { onEmpty: () => void polls++ },
      // The transaction after an empty poll asks when the next task is due. The wake-up comes in the middle of it.
      transactions: guarded(async () => {
        if (polls !== 1) return
        polls++
        await fixture.push('a')
        node.wake(fixture.topic)
      }),
    })
    await using _ = node
    node.process(fixture.topic, { idleMs: 24 * hour, handler: eachTask(() => {}) })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
  })

  test.each(['leased', 'transactional'] as const)('sleeps when there is nothing to do, in %s mode', async (mode) => {
    let empty = 0
    const { clock, node } = fixture.clocked({ listener: { onEmpty: () => void empty++ } })
    await using _ = node
    node.process(fixture.topic, { mode, idleMs: 1_000, handler: eachTask(() => {}) })
    await node.start()
    let moves = 0
    await expect.poll(() => (moves++, clock.advance(1_000), empty)).toBeGreaterThan(5)
    // Only the first empty poll needs no move of the clock.
    expect(empty).toBeLessThanOrEqual(moves + 1)
  })

  test('backs off while the database fails, and tells of it once', async () => {
    let broken = true
    let asked = 0
    const told: string[] = []
    const listener: NodeOptions['listener'] = {
      onError: ({ activity }) => void told.push(`error ${activity}`),
      onRecovered: ({ activity }) => void told.push(`recovered ${activity}`),
    }
    const { clock, node } = fixture.clocked({ ...patient, listener }, (tasks) => ({
      ...tasks,
      poll: (...given) => {
        asked++
        if (broken) throw new TaskError('DATABASE_UNAVAILABLE', 'not there')
        return tasks.poll(...given)
      },
    }))
    await using _ = node
    node.process(fixture.topic, { idleMs: 24 * hour, handler: eachTask(() => {}) })
    await node.start()
    for (let failures = 1; failures <= 5; failures++) {
      await expect.poll(() => asked).toBe(failures)
      // Half of each pause is left to chance. The first move stays below the shortest pause, and the second reaches the longest.
      clock.advance(50 * 2 ** (failures - 1) - 1)
      await new Promise((resolve) => setImmediate(resolve))
      expect(asked).toBe(failures)
      clock.advance(50 * 2 ** (failures - 1) + 1)
    }
    await expect.poll(() => asked).toBe(6)
    expect(told).toEqual(['error poll'])
    broken = false
    await fixture.push('a')
    clock.advance(10_000)
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
    expect(told).toEqual(['error poll', 'recovered poll'])
  })

  test('asks a handler that takes too long to let go, and retries its tasks by the policy', async () => {
    await fixture.push('a')
    const reasons: unknown[] = []
    const { clock, node } = fixture.clocked(patient)
    await using _ = node
    node.process(fixture.topic, {
      timeoutMs: 5_000,
      retry: exponential({ tries: 2, firstMs: 60_000, jitter: 0 }),
      handler: async (__, { signal }) => {
        reasons.push('began')
        await untilAborted(signal).catch((error: unknown) => {
          reasons.push((error as TaskError).code)
          throw error
        })
      },
    })
    await node.start()
    await expect.poll(() => reasons).toEqual(['began'])
    clock.advance(4_999)
    expect(reasons).toEqual(['began'])
    clock.advance(1)
    await expect.poll(fixture.states).toEqual({ delayed: 1 })
    const tooLong = { reason: 'timeout', output: expect.stringContaining('longer than 5000 ms') }
    expect((await fixture.page())[0]).toMatchObject({ tries: 1, ...tooLong })
    await expect.poll(() => (clock.advance(60_000), reasons.length)).toBe(3)
    await expect.poll(() => (clock.advance(5_000), fixture.states())).toEqual({ failed: 1 })
    expect((await fixture.page())[0]).toMatchObject({ tries: 2, ...tooLong })
  })

  test('completes what a handler of single tasks has done when its time is up, and hands back what it has not begun', async () => {
    await fixture.push('a', 'b', 'c', 'd')
    const begun: string[] = []
    const returned = Promise.withResolvers<readonly HeldTask[]>()
    const { clock, node } = fixture.clocked({ listener: { onReturned: ({ tasks }) => returned.resolve(tasks) } })
    await using _ = node
    node.process(fixture.topic, {
      timeoutMs: 1_000,
      concurrency: 1,
      handler: eachTask(async ({ identifier, attempt }, { signal }) => {
        begun.push(identifier)
        if (identifier === 'b' && attempt === 1) await untilAborted(signal)
      }),
    })
    await node.start()
    await expect.poll(() => begun).toEqual(['a', 'b'])
    clock.advance(1_000)
    expect((await returned.promise).map(({ identifier, tries }) => [identifier, tries])).toEqual([
      ['c', 1],
      ['d', 1],
    ])
    await expect.poll(fixture.states).toEqual({ succeeded: 3, failed: 1 })
    expect((await fixture.page()).map(({ identifier, state, tries }) => [identifier, state, tries])).toEqual([
      ['a', 'succeeded', 1],
      ['b', 'failed', 1],
      // Its try was refunded.
      ['c', 'succeeded', 1],
      ['d', 'succeeded', 1],
    ])
  })

  test('takes tasks from a handler that ignores its time, says that it is stuck, and refuses what it decides later', async () => {
    await fixture.push('a', 'b', 'c')
    const gate = Promise.withResolvers<void>()
    const contexts: HandlerContext<AnyTransaction>[] = []
    const stuck: unknown[] = []
    const lost: string[] = []
    const { clock, node } = fixture.clocked({
      listener: {
        onStuck: ({ at, heldMs }) => void stuck.push([at?.identifier, heldMs]),
        onLost: ({ tasks: gone }) => void lost.push(...gone.map(({ identifier }) => identifier)),
      },
    })
    await using _ = node
    node.process(fixture.topic, {
      size: 1,
      concurrency: 1,
      timeoutMs: 5_000,
      abortMs: 1_000,
      handler: async (batch, context) => {
        contexts.push(context)
        context.at(batch[0]!)
        if (batch[0]!.identifier === 'a') await gate.promise
        return new Map([[batch[0]!, TaskDecision.success()]])
      },
    })
    await node.start()
    await expect.poll(() => contexts.length).toBe(1)
    clock.advance(5_000)
    expect(stuck).toEqual([])
    clock.advance(1_000)
    expect(stuck).toEqual([['a', 6_000]])
    await expect.poll(fixture.states).toEqual({ failed: 1, ready: 2 })
    // The concurrency is one, so nothing is polled while one handler is stuck.
    expect(contexts).toHaveLength(1)
    await expect(contexts[0]!.complete(() => new Map())).rejects.toMatchObject({ code: 'TASK_LOST' })
    gate.resolve()
    await expect.poll(() => lost).toEqual(['a', 'a'])
    await expect.poll(fixture.states).toEqual({ failed: 1, succeeded: 2 })
  })

  test('says nothing of a handler that was done in time, however long ago', async () => {
    await fixture.push('a')
    const stuck: unknown[] = []
    const signals: AbortSignal[] = []
    const { clock, node } = fixture.clocked({ ...patient, listener: { onStuck: (event) => void stuck.push(event) } })
    await using _ = node
    node.process(fixture.topic, { timeoutMs: 5_000, handler: eachTask((__, { signal }) => void signals.push(signal)) })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
    clock.advance(hour)
    expect([signals.map(({ aborted }) => aborted), stuck]).toEqual([[false], []])
  })

  test('renews what the planner knows at its interval, where it is asked to', async () => {
    let refreshed = 0
    const { clock, tasks, node } = fixture.clocked({ ...patient, refreshIntervalMs: hour })
    const { refresh } = tasks
    Object.assign(tasks, { refresh: (transaction: AnyTransaction) => (refreshed++, refresh(transaction)) })
    await using _ = node
    await node.start()
    await expect.poll(() => refreshed).toBe(1)
    await expect.poll(() => (clock.advance(6 * hour), refreshed)).toBeGreaterThan(2)
    expect(() => fixture.nodeOf({ refreshIntervalMs: 1 })).toThrow('refreshIntervalMs')
  })

  test('stops in the end, also when the database has stopped answering', async () => {
    let hangs = false
    const { clock, node } = fixture.clocked({
      heartbeatIntervalMs: 1_000,
      transactions: guarded(() => (hangs ? new Promise<never>(() => {}) : undefined)),
    })
    node.process(fixture.topic, { handler: eachTask(() => {}) })
    await node.start()
    hangs = true
    clock.advance(1_000)
    let stopped = false
    void node.stop().then(() => (stopped = true))
    await expect.poll(() => (clock.advance(10_000), stopped)).toBe(true)
  })
})
