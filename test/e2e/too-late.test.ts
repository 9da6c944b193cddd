/** A slot or a decision that comes too late starts no work. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

describe.skipIf(!canRun)('what comes too late', () => {
  const fixture = useNodeFixture('too-late')

  test('a slot that was waited for while the lease was lost is given back, and nothing is polled', async () => {
    await fixture.push('a')
    const asked: PromiseWithResolvers<() => void>[] = []
    const limiter = {
      acquire: (_topic: string, signal: AbortSignal): Promise<() => void> => {
        const slot = Promise.withResolvers<() => void>()
        signal.addEventListener('abort', () => slot.reject(signal.reason))
        asked.push(slot)
        return slot.promise
      },
    }
    const given = Promise.withResolvers<void>()
    const lost = Promise.withResolvers<void>()
    let isAway = false
    let polls = 0
    const wrap = (tasks: Tasks): Tasks =>
      ({
        ...tasks,
        heartbeat: (transaction: AnyTransaction) => {
          if (isAway) throw new TaskError('DATABASE_UNAVAILABLE', 'gone')
          return tasks.heartbeat(transaction)
        },
        poll: (...args: Parameters<Tasks['poll']>) => {
          polls++
          return tasks.poll(...args)
        },
      }) as unknown as Tasks
    const listener = { onLeaseLost: () => lost.resolve() }
    const times = { heartbeatIntervalMs: 10_000, leaseMs: 30_000, maintenanceIntervalMs: 86_400_000 }
    const { clock, node } = fixture.clocked({ limiter, listener, ...times }, wrap)
    await using _node = node
    node.process(fixture.topic, { handler: eachTask(() => {}) })
    await node.start()
    await expect.poll(() => asked.length).toBe(1)
    isAway = true
    clock.advance(45_000)
    await lost.promise
    asked[0]!.resolve(() => given.resolve())
    await given.promise
    expect(polls).toBe(0)
    isAway = false
    await expect
      .poll(() => {
        clock.advance(10_000)
        return asked.length
      })
      .toBeGreaterThan(1)
    asked[1]!.resolve(() => {})
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
  })

  test('what a handler decides in the moment that its transaction is given up is not written', async () => {
    await fixture.push('a', 'b')
    let completions = 0
    const wrap = (tasks: Tasks): Tasks =>
      ({
        ...tasks,
        complete: (...args: Parameters<Tasks['complete']>) => {
          completions++
          return tasks.complete(...args)
        },
      }) as unknown as Tasks
    const handled: string[] = []
    const waits = Promise.withResolvers<void>()
    const { clock, node } = fixture.clocked({}, wrap)
    await using _node = node
    node.process(fixture.topic, {
      mode: 'transactional',
      size: 1,
      concurrency: 1,
      timeoutMs: 1_000,
      abortMs: 0,
      handler: async ([task], { signal }): Promise<Map<HeldTask, TaskDecision>> => {
        handled.push(task!.identifier)
        // The first batch is leased, and so is the one after a rollback. Only the second is in a transaction.
        if (handled.length === 2) {
          waits.resolve()
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        }
        return new Map([[task!, TaskDecision.success()]])
      },
    })
    await node.start()
    await waits.promise
    clock.advance(1_000)
    await expect.poll(() => handled).toEqual(['a', 'b', 'b'])
    await expect.poll(fixture.states).toEqual({ succeeded: 2 })
    expect(completions).toBe(2)
  })

  /** Returns a node in transactional mode. Its polls in a transaction wait at a gate with what they have brought. */
  const withGatedPolls = () => {
    const asked = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const wrap = (tasks: Tasks): Tasks =>
      ({
        ...tasks,
        poll: async (...args: Parameters<Tasks['poll']>) => {
          const polled = await tasks.poll(...args)
          if (args[2]?.hold === 'transaction') {
            asked.resolve()
            await gate.promise
          }
          return polled
        },
      }) as unknown as Tasks
    const handled: string[] = []
    const { clock, node } = fixture.clocked({}, wrap)
    const handler = eachTask(({ identifier }) => void handled.push(identifier))
    const manager = node.process(fixture.topic, { mode: 'transactional', size: 1, concurrency: 1, handler })
    return { asked, gate, handled, clock, node, manager }
  }

  test('what a transaction brings when its topic has stopped is not handled', async () => {
    await fixture.push('a', 'b')
    const { asked, gate, handled, clock, node, manager } = withGatedPolls()
    await using _node = node
    await node.start()
    await asked.promise
    let isOver = false
    void manager.stop({ graceMs: 0, abortMs: 0, leaveMs: 8 }).then(() => (isOver = true))
    await expect
      .poll(() => {
        clock.advance(10)
        return isOver
      })
      .toBe(true)
    gate.resolve()
    await expect.poll(fixture.states).toEqual({ succeeded: 1, ready: 1 })
    expect(handled).toEqual(['a'])
  })

  test('what a transaction brings when handlers have been asked to let go is not handled', async () => {
    await fixture.push('a', 'b')
    const { asked, gate, handled, clock, node, manager } = withGatedPolls()
    await using _node = node
    await node.start()
    await asked.promise
    // Its grace is over, and its time to let go is not.
    const stopped = manager.stop({ graceMs: 0, abortMs: 3_600_000 })
    clock.advance(0)
    for (let count = 0; count < 20; count++) await new Promise((resolve) => setImmediate(resolve))
    gate.resolve()
    expect(await stopped).toEqual({ finished: [], returned: [], abandoned: [] })
    expect(await fixture.states()).toEqual({ succeeded: 1, ready: 1 })
    expect(handled).toEqual(['a'])
  })
})
