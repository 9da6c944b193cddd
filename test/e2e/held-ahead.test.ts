/** By default a node holds more ahead than its handlers have, as long as they are quick. Nothing of that is lost, kept or handled twice. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask, TaskInfo, TransactionSource } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import type { BatchHandler, TaskNode } from '@taskstream/task-processor'
import { beforeEach, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const count = 2_500
const identifiers = Array.from({ length: count }, (_, index) => `i${index}`)
const succeed = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, TaskDecision.success()]))

describe.skipIf(!canRun)('what a node holds ahead', () => {
  const fixture = useNodeFixture('ahead')
  beforeEach(async () => {
    await fixture.push(...identifiers)
  })

  /** Goes on until `after` tasks were handled, and then waits. Several hundred tasks are held by then. */
  function stalling(after: number): {
    handler: BatchHandler<AnyTransaction>
    stalled: Promise<void>
    goOn: () => void
    handled: string[]
  } {
    const handled: string[] = []
    const stalled = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const handler: BatchHandler<AnyTransaction> = async (tasks, { signal }) => {
      if (handled.length >= after) {
        stalled.resolve()
        await Promise.race([gate.promise, new Promise((resolve) => signal.addEventListener('abort', resolve))])
        if (signal.aborted) return new Map()
      }
      handled.push(...tasks.map(({ identifier }) => identifier))
      return succeed(tasks)
    }
    return { handler, stalled: stalled.promise, goOn: gate.resolve, handled }
  }
  /** A node whose handlers have stalled, while it holds several hundred tasks. */
  async function stalledNode(): Promise<{ node: TaskNode<AnyTransaction>; handled: string[]; goOn: () => void }> {
    const { handler, stalled, goOn, handled } = stalling(1_200)
    const node = fixture.nodeOf()
    node.process(fixture.topic, { handler })
    await node.start()
    await stalled
    // What was handled would count as finished by a stop, were it completed only then.
    await expect.poll(fixture.states).toMatchObject({ succeeded: handled.length })
    await expect.poll(heldOf).toBeGreaterThan(200)
    return { node, handled, goOn }
  }
  const heldOf = async (): Promise<number> => (await fixture.states())['active'] ?? 0
  /** How often tasks were tried, of those that are ready again and of those that were never polled. */
  const tried = async (): Promise<Set<number>> => {
    const page = await fixture.commit<TaskInfo[]>((transaction) =>
      fixture.tasks.page(transaction, fixture.topic, { states: ['ready'], size: 10_000 }),
    )
    return new Set(page.map(({ tries }) => tries))
  }

  test('is handed back by a stop, with its try, while the handlers finish', async () => {
    const { node: begun, handled, goOn } = await stalledNode()
    await using node = begun
    const stopping = node.stop()
    await expect.poll(heldOf).toBeLessThanOrEqual(200)
    goOn()
    const report = await stopping
    expect(report.abandoned).toEqual([])
    expect(report.finished.length).toBeLessThanOrEqual(200)
    expect(report.returned.length).toBeGreaterThan(0)
    expect(await fixture.states()).toEqual({ succeeded: handled.length, ready: count - handled.length })
    expect(await tried()).toEqual(new Set([0]))
    expect(new Set(handled).size).toBe(handled.length)
  })

  test('is in the report of a stop that lets no handler finish, and nothing is held after it', async () => {
    const { node: begun, handled } = await stalledNode()
    await using node = begun
    const { returned, abandoned } = await node.stop({ graceMs: 0 })
    expect(abandoned).toEqual([])
    expect(returned.length).toBeGreaterThan(200)
    expect(await fixture.states()).toEqual({ succeeded: handled.length, ready: count - handled.length })
    expect(await tried()).toEqual(new Set([0]))
  })

  test('goes to another node while the handlers of the first hang', async () => {
    const { node: first, goOn } = await stalledNode()
    await using _first = first
    await using second = fixture.nodeOf({ repository: fixture.subject.tasks() })
    second.process(fixture.topic, { handler: eachTask(() => {}) })
    await second.start()
    // All but the two batches whose handlers hang.
    await expect.poll(fixture.states, { timeout: 20_000 }).toEqual({ succeeded: count - 200, active: 200 })
    goOn()
    await expect.poll(fixture.states).toEqual({ succeeded: count })
  })

  test('is handled beside a batch whose handler throws, which fails its own tasks only', async () => {
    const failed: string[] = []
    await using node = fixture.nodeOf({
      listener: { onError: ({ tasks = [] }) => void failed.push(...tasks.map(({ identifier }) => identifier)) },
    })
    node.process(fixture.topic, {
      handler: (tasks) => {
        if (tasks.some(({ identifier }) => identifier === 'i1500')) throw new Error('in the middle')
        return succeed(tasks)
      },
    })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: count - 100, failed: 100 })
    expect(failed).toContain('i1500')
    expect(failed).toHaveLength(100)
  })

  test('is completed once the database is back, or handed back, and every task ends', async () => {
    const { transactions } = fixture.subject
    let isAway = false
    const check = (): void => {
      if (isAway) throw new TaskError('DATABASE_UNAVAILABLE', 'away')
    }
    const failing: TransactionSource<AnyTransaction> = Object.assign(
      ((work, options) => (check(), transactions(work, options))) as typeof transactions,
      transactions,
    )
    const { autocommit } = transactions
    if (autocommit)
      Object.defineProperty(failing, 'autocommit', {
        value: ((work, options) => (check(), autocommit(work, options))) as typeof autocommit,
      })
    const { handler, stalled, goOn, handled } = stalling(1_200)
    await using node = fixture.nodeOf({ transactions: failing })
    node.process(fixture.topic, { handler })
    await node.start()
    await stalled
    await expect.poll(heldOf).toBeGreaterThan(200)
    isAway = true
    goOn()
    // What is held ahead is handled by now, and cannot be completed.
    await expect.poll(() => handled.length).toBeGreaterThan(1_700)
    isAway = false
    await expect.poll(fixture.states, { timeout: 20_000 }).toEqual({ succeeded: count })
    expect(new Set(handled)).toEqual(new Set(identifiers))
  })
})
