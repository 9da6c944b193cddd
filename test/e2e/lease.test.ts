/** A node holds tasks only as long as its lease lasts. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import { eachTask, systemClock } from '@taskstream/task-processor'
import { describe, expect, test } from 'vitest'
import { canRun } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { useNodeFixture } from './fixture.ts'

const hour = 3_600_000

/** Intervals so long that the lease holds when a test moves the clock by hours. */
const patient = { heartbeatIntervalMs: 6 * hour, leaseMs: 48 * hour, maintenanceIntervalMs: 6 * hour }

/** Rejects when the signal is aborted, as a well-behaved handler does. */
function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
}

describe.skipIf(!canRun)('a lease', () => {
  const fixture = useNodeFixture('lease')

  /** Returns the transactions of the subject. Each first waits for `allow`, which may throw. */
  const guarded =
    (allow: () => void | Promise<void>): TransactionSource<AnyTransaction> =>
    async (work) => {
      await allow()
      return fixture.commit(work)
    }

  test('is counted from the sending of a heartbeat, not from the answer', async () => {
    let slow: PromiseWithResolvers<void> | undefined
    const progress = { sent: 0, answered: 0 }
    const lost: unknown[] = []
    const { clock, tasks, node } = fixture.clocked({
      heartbeatIntervalMs: 1_000,
      leaseMs: 10_000,
      maintenanceIntervalMs: 24 * hour,
      listener: { onLeaseLost: (event) => void lost.push(event) },
      transactions: async (work) => {
        const gate = slow
        if (gate) progress.sent++
        await gate?.promise
        const result = await fixture.commit(work)
        if (gate) progress.answered++
        return result
      },
    })
    let maintained = false
    const { purgeActions } = tasks
    // The last step of maintenance.
    Object.assign(tasks, {
      purgeActions: (...args: Parameters<typeof purgeActions>) => ((maintained = true), purgeActions(...args)),
    })
    await using _ = node
    await node.start()
    // Nothing that the start has begun comes after this, so there are only heartbeats.
    await expect.poll(() => maintained).toBe(true)
    slow = Promise.withResolvers()
    clock.advance(1_000)
    expect(progress.sent).toBe(1)
    // The answer takes nine seconds. Other nodes count from the time in the database, which is before the answer.
    clock.advance(9_000)
    slow.resolve()
    await expect.poll(() => progress.answered).toBe(1)
    slow = Promise.withResolvers()
    clock.advance(999)
    expect(lost).toEqual([])
    clock.advance(1_001)
    expect(lost).toEqual([{ leaseMs: 10_000 }])
    slow.resolve()
  })

  test('that runs out has everything let go of, and nothing polled, until a heartbeat comes through again', async () => {
    await fixture.push('a', 'b')
    let dead = false
    const told: string[] = []
    const { clock, node, pass } = fixture.clocked({
      heartbeatIntervalMs: 1_000,
      leaseMs: 10_000,
      listener: { onLeaseLost: ({ leaseMs }) => void told.push(`lost ${leaseMs}`) },
      transactions: guarded(() => {
        if (dead) throw new TaskError('DATABASE_UNAVAILABLE', 'not there')
      }),
    })
    await using _ = node
    node.process(fixture.topic, {
      size: 1,
      concurrency: 1,
      handler: async ([task], { signal }) => {
        told.push(task!.identifier)
        if (told.length === 1)
          await untilAborted(signal).catch((error: unknown) => {
            told.push((error as TaskError).code)
            throw error
          })
        return new Map([[task!, TaskDecision.success()]])
      },
    })
    await node.start()
    await expect.poll(() => told).toEqual(['a'])
    dead = true
    clock.advance(10_000)
    expect(told).toEqual(['a'])
    clock.advance(1_000)
    await expect.poll(() => told).toEqual(['a', 'lost 10000', 'LEASE_LOST'])
    dead = false
    await expect.poll(() => (pass(1_000), fixture.states())).toEqual({ succeeded: 2 })
    expect(told).toEqual(['a', 'lost 10000', 'LEASE_LOST', 'a', 'b'])
  })

  test('that runs out while a poll is under way keeps from handlers what that brings: nobody would ask them to let go', async () => {
    await fixture.push('a')
    let dead = false
    let isFirst = true
    const polled = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const told: string[] = []
    const { clock, node, pass } = fixture.clocked(
      {
        heartbeatIntervalMs: 1_000,
        leaseMs: 10_000,
        maintenanceIntervalMs: 24 * hour,
        listener: { onLeaseLost: () => void told.push('lost') },
        transactions: async (work) => {
          const result = await fixture.commit(work)
          // Only the first poll: heartbeats that failed again would let the lease run out again.
          if (isFirst && Array.isArray(result) && result.length > 0) {
            isFirst = false
            dead = true
            polled.resolve()
            await gate.promise
          }
          return result
        },
      },
      (own) => ({
        ...own,
        heartbeat: (transaction) => {
          if (dead) throw new TaskError('DATABASE_UNAVAILABLE', 'not there')
          return own.heartbeat(transaction)
        },
      }),
    )
    await using _ = node
    node.process(fixture.topic, { handler: eachTask(({ attempt }) => void told.push(`attempt ${attempt}`)) })
    await node.start()
    await polled.promise
    clock.advance(11_000)
    expect(told).toEqual(['lost'])
    gate.resolve()
    await expect.poll(fixture.states).toEqual({ ready: 1 })
    expect(told).toEqual(['lost'])
    dead = false
    await expect.poll(() => (pass(1_000), fixture.states())).toEqual({ succeeded: 1 })
    expect(told).toEqual(['lost', 'attempt 2'])
  })

  test('tells which task was at work when the event loop stood still', async () => {
    await fixture.push('a', 'b')
    let skewMs = 0
    const blocked = Promise.withResolvers<unknown>()
    await using node = fixture.nodeOf({
      ...patient,
      blockedMs: hour,
      // The skew makes it seem that the event loop has stood still for two hours.
      clock: { monotonicMs: () => performance.now() + skewMs, after: systemClock.after },
      listener: {
        onBlocked: ({ blockedMs, batches }) =>
          blocked.resolve([blockedMs >= hour, batches.map(({ topic, at }) => [topic, at?.identifier])]),
      },
    })
    const gate = Promise.withResolvers<void>()
    node.process(fixture.topic, {
      handler: eachTask(async ({ identifier }) => {
        if (identifier === 'b') skewMs = 2 * hour
        if (identifier === 'b') await gate.promise
      }),
    })
    await node.start()
    expect(await blocked.promise).toEqual([true, [[fixture.topic, 'b']]])
    gate.resolve()
  })

  test('leaves the tasks of an owner that left for somebody to look at, where it is told to', async () => {
    await fixture.push('a', 'b')
    const dead = fixture.subject.tasks()
    await fixture.commit(async (transaction) => {
      await dead.register(transaction)
      await dead.poll(transaction, fixture.topic, { size: 1 })
      await dead.unregister(transaction)
    })
    await using node = fixture.nodeOf({ expireTo: 'expired' })
    node.process(fixture.topic, { handler: eachTask(() => {}) })
    await node.start()
    await expect.poll(fixture.states).toEqual({ expired: 1, succeeded: 1 })
    expect((await fixture.page())[0]).toMatchObject({ identifier: 'a', state: 'expired', owner: dead.owner, reason: 'lease' })
    // Somebody has looked at the task, and has it done again.
    await fixture.commit((transaction) => fixture.tasks.redrive(transaction, fixture.topic, { states: ['expired'] }))
    node.wake(fixture.topic)
    await expect.poll(fixture.states).toEqual({ succeeded: 2 })
  })
})
