/** A node can be asked to stop again while it is stopping. */
import { TaskDecision } from '@taskstream/task-api'
import { buffering } from '@taskstream/task-processor'
import type { HeldTask, TransactionSource } from '@taskstream/task-api'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'
import type { NodeFixture } from './fixture.ts'

const hourMs = 3_600_000

interface Busy extends ReturnType<NodeFixture['clocked']> {
  /** Lets the handler return. */
  letGo(): void
  readonly signal: AbortSignal
}

describe.skipIf(!canRun)('a node that is asked to stop again', () => {
  const fixture = useNodeFixture('stop-again')

  /** Starts a node whose handler holds a task until `letGo` is called, whatever its signal says. */
  async function busy(): Promise<Busy> {
    await fixture.push('a')
    const clocked = fixture.clocked()
    const begun = Promise.withResolvers<AbortSignal>()
    const free = Promise.withResolvers<void>()
    clocked.node.process(fixture.topic, {
      handler: async (tasks: readonly HeldTask[], { signal }) => {
        begun.resolve(signal)
        await free.promise
        return new Map(tasks.map((task) => [task, TaskDecision.success()]))
      },
    })
    await clocked.node.start()
    return { ...clocked, letGo: free.resolve, signal: await begun.promise }
  }

  test('waits no longer for a buffer either, whose worker does not let go', async () => {
    await fixture.push('a')
    const { clock, node, pass } = fixture.clocked()
    const free = Promise.withResolvers<void>()
    using _free = { [Symbol.dispose]: () => free.resolve() }
    const handler = buffering<AnyTransaction>({ buffer: 0, workers: 1, handler: () => free.promise.then(() => new Map()) })
    node.process(fixture.topic, { handler, timeoutMs: 100, abortMs: 0 })
    await node.start()
    await expect.poll(() => (pass(100), fixture.states())).toEqual({ failed: 1 })
    let isOver = false
    void node.stop({ graceMs: 0, abortMs: hourMs, leaveMs: 8 * hourMs }).then(() => (isOver = true))
    const fromMs = clock.monotonicMs()
    void node.stop({ graceMs: 0, abortMs: 0, leaveMs: 400 })
    await expect.poll(() => (pass(100), isOver)).toBe(true)
    expect(clock.monotonicMs() - fromMs).toBeLessThan(hourMs)
  })

  test('takes no longer than it is allowed then, and says the same to both', async () => {
    const { clock, node, letGo, signal, pass } = await busy()
    const first = node.stop({ graceMs: hourMs })
    const beganMs = clock.monotonicMs()
    const second = node.stop({ graceMs: 100, abortMs: 100, leaveMs: 800 })
    let isOver = false
    void second.then(() => (isOver = true))
    clock.advance(100)
    await expect.poll(() => signal.aborted).toBe(true)
    await expect.poll(() => (isOver || pass(100), isOver)).toBe(true)
    // Each part of the stop may end a step late.
    expect(clock.monotonicMs() - beganMs).toBeLessThanOrEqual(2_000)
    const report = await second
    expect(report.returned).toHaveLength(1)
    expect(await first).toEqual(report)
    letGo()
  })

  test('leaves handlers the time to let go that the first of them would have ended', async () => {
    const { clock, node, letGo, signal } = await busy()
    const first = node.stop({ graceMs: hourMs, abortMs: 0 })
    const second = node.stop({ graceMs: 0, abortMs: 1_000 })
    clock.advance(0)
    await expect.poll(() => signal.aborted).toBe(true)
    clock.advance(999)
    for (let count = 0; count < 20; count++) await new Promise((resolve) => setImmediate(resolve))
    letGo()
    expect((await second).finished).toHaveLength(1)
    expect(await first).toEqual(await second)
  })

  test('waits no longer for a database that does not answer', async () => {
    let isSilent = false
    const asked = Promise.withResolvers<void>()
    const transactions: TransactionSource<AnyTransaction> = (work, options) => {
      if (!isSilent) return fixture.subject.transactions(work, options)
      asked.resolve()
      return new Promise(() => {})
    }
    const { clock, node } = fixture.clocked({ transactions })
    await node.start()
    isSilent = true
    const first = node.stop({ leaveMs: hourMs })
    await asked.promise
    let isOver = false
    const second = node.stop({ graceMs: 0, abortMs: 0, leaveMs: 800 })
    void second.then(() => (isOver = true))
    let passedMs = 0
    await expect.poll(() => (isOver || ((passedMs += 100), clock.advance(100)), isOver)).toBe(true)
    // Each part of the stop may end a step late.
    expect(passedMs).toBeLessThanOrEqual(2_000)
    expect(await first).toEqual(await second)
  })

  test('is left the time that it has when it is only disposed of', async () => {
    const { clock, node, letGo, signal } = await busy()
    const stopped = node.stop({ graceMs: hourMs })
    const disposed = node[Symbol.asyncDispose]()
    // The default grace, which a disposal alone would give, is over by now. The lease is not.
    clock.advance(15_000)
    for (let count = 0; count < 20; count++) await new Promise((resolve) => setImmediate(resolve))
    expect(signal.aborted).toBe(false)
    letGo()
    await disposed
    expect((await stopped).finished).toHaveLength(1)
  })
})
