/** A heartbeat from a thread of its own keeps a lease while a handler computes. */
import { BroadcastChannel, receiveMessageOnPort } from 'node:worker_threads'
import { setImmediate } from 'node:timers/promises'
import type { MessagePort } from 'node:worker_threads'
import type { TransactionSource } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import type { HeartbeatThread } from '@taskstream/task-processor'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'
import { refuse, results } from './refusals.ts'

const leaseMs = 2_000
/**
 * A lease for tests that keep it. Even on a busy machine the event loop goes on within it, counted from the last awaited beat.
 */
const longLeaseMs = 5_000

/** Makes the event loop stand still, which these tests are about. To await anything of this process would let the loop turn. */
function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

/** Tells whether a transaction is open. */
function counted(source: TransactionSource<AnyTransaction>): {
  readonly transactions: TransactionSource<AnyTransaction>
  readonly isOpen: () => boolean
} {
  let open = 0
  const transactions = new Proxy(source, {
    apply: async (target, _, args: Parameters<TransactionSource<AnyTransaction>>) => {
      open++
      try {
        return await target(...args)
      } finally {
        open--
      }
    },
  })
  return { transactions, isOpen: () => open > 0 }
}

describe.skipIf(!canRun)('a heartbeat from a thread of its own', () => {
  const fixture = useNodeFixture('thread')
  let thread: HeartbeatThread
  const beats = new BroadcastChannel(`beats of ${process.pid}`)
  afterAll(() => beats.close())
  beforeAll(async () => {
    const { subject, at } = fixture.subject.location
    const module = new URL('./beating.ts', import.meta.url)
    module.search = new URLSearchParams({ subject, at, told: beats.name }).toString()
    const loader = new URL('./strip-types.js', import.meta.url).href
    thread = {
      module,
      worker: { execArgv: ['--conditions=@taskstream/source', `--import=${loader}`, '--no-strip-types'], stderr: true },
    }
  })

  /** Returns the owners that another repository sees. */
  const others = async (): Promise<readonly string[]> => {
    const { subject } = fixture
    const owners = await subject.transactions<readonly { readonly owner: string }[]>((transaction) =>
      subject.tasks().owners(transaction, 1_000_000),
    )
    return owners.map(({ owner }) => owner)
  }

  // Node.js takes a channel here too, although its types do not say so.
  const heard = (): unknown => receiveMessageOnPort(beats as unknown as MessagePort)
  /** Blocks for longer than the lease, and then until the thread has sent two heartbeats, however busy the machine is. */
  const blockUntilBeats = (): void => {
    block(longLeaseMs * 1.5)
    while (heard()) continue
    // The thread reports a heartbeat just before it counts the heartbeat. Only the second report proves that the first counts.
    // Nobody else can end a loop that stands still, so it ends itself.
    const end = performance.now() + 60_000
    for (let count = 0; count < 2; count++)
      while (!heard()) {
        if (performance.now() > end) throw new Error('The thread has sent no heartbeat for a minute')
        block(10)
      }
  }

  test('keeps the lease of a handler that computes for longer than it', async () => {
    await fixture.push('a')
    const lost: unknown[] = []
    const { transactions, isOpen } = counted(fixture.subject.transactions)
    await using node = fixture.nodeOf({
      transactions,
      leaseMs: longLeaseMs,
      heartbeatThread: thread,
      listener: { onLeaseLost: (event) => lost.push(event), onLost: (event) => lost.push(event) },
    })
    const handled = Promise.withResolvers<void>()
    const compute = (): void => {
      // The thread may have taken longer than the lease to start, but nothing was held by then.
      lost.length = 0
      blockUntilBeats()
      handled.resolve()
    }
    // A transaction of the node's own maintenance, begun before the loop stands still, would keep a file of SQLite locked.
    const handler = eachTask(async () => {
      while (isOpen()) await setImmediate()
      compute()
    })
    node.process(fixture.topic, { handler })
    await node.start()
    // A query of the test, begun while the loop stands still, would keep a file of SQLite locked.
    await handled.promise
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
    expect(lost).toEqual([])
  })

  test('ends when the event loop has stood still for too long, and the lease with it', async () => {
    await fixture.push('a')
    const lost: unknown[] = []
    await using node = fixture.nodeOf({
      leaseMs,
      heartbeatThread: { ...thread, hungMs: 100 },
      listener: { onLeaseLost: (event) => lost.push(event) },
    })
    // The task is taken from the node, which counts as dead, and comes again. The second attempt does not block.
    node.process(fixture.topic, { handler: eachTask(({ attempt }) => (attempt === 1 ? block(leaseMs * 1.5) : undefined)) })
    await node.start()
    await expect.poll(() => lost).toEqual([{ leaseMs }])
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
  })

  test('keeps nothing that its node has left: what could not be written is handed back as soon as it can be', async () => {
    await fixture.push('a', 'bad')
    await using refusing = await refuse(fixture.subject, 'bad', ['ready', ...results])
    await using node = fixture.nodeOf({ leaseMs: longLeaseMs, heartbeatThread: thread })
    const manager = node.process(fixture.topic, { concurrency: 1, handler: eachTask(() => {}) })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 1, active: 1 })
    expect((await manager.stop()).abandoned.map(({ identifier }) => identifier)).toEqual(['bad'])
    await refusing[Symbol.asyncDispose]()
    await expect.poll(fixture.states).toEqual({ succeeded: 1, ready: 1 })
  })

  test('does not let a node start whose thread cannot', async () => {
    expect(() => fixture.nodeOf({ heartbeatThread: { ...thread, hungMs: 99 } })).toThrow('heartbeatThread.hungMs')
    const broken = { ...thread, module: new URL('./not-there.ts', import.meta.url) }
    const node = fixture.nodeOf({ heartbeatThread: broken })
    await expect(node.start()).rejects.toThrow('not-there')
    expect(await others()).not.toContain(node.owner)
  })

  test('registers its owner anew when that was removed as dead', async () => {
    await using node = fixture.nodeOf({ leaseMs, heartbeatThread: thread })
    await node.start()
    expect(await others()).toContain(node.owner)
    await fixture.commit((transaction) => fixture.tasks.unregister(transaction))
    await expect.poll(others).toContain(node.owner)
  })

  test('speaks for an owner that there is, and for no name beside it', () => {
    expect(() => fixture.subject.tasks({ speaksFor: 'nobody' })).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
    expect(() => fixture.subject.tasks({ speaksFor: fixture.tasks.owner, owner: 'me' })).toThrow(
      expect.objectContaining({ code: 'ARGUMENT_INVALID' }),
    )
    expect(fixture.subject.tasks({ speaksFor: fixture.tasks.owner }).owner).toBe(fixture.tasks.owner)
  })
})
