/** Work that a node has given up changes nothing any more, and blocks nobody. */
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask, TransactionSource } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { describe, expect, test } from 'vitest'
import { canRun, isPostgres } from '../subject.ts'
import type { AnyTransaction, Tasks } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { useNodeFixture } from './fixture.ts'

/** This limit goes by the clock of the process, so it must leave a busy machine enough time. */
const statementTimeoutMs = 1_000

const succeedAll = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, TaskDecision.success()]))

describe.skipIf(!canRun)('what a node has given up', () => {
  const fixture = useNodeFixture('given-up')
  const push = (...identifiers: string[]): Promise<unknown> => fixture.push(...identifiers)

  /** Lets the event loop turn until all that follows at once has happened. */
  const turns = async (): Promise<void> => {
    for (let count = 0; count < 20; count++) await new Promise((resolve) => setImmediate(resolve))
  }

  /** A source that ignores its signal, as does one of a library whose connections cannot be closed from outside. */
  const deaf: TransactionSource<AnyTransaction> = (work) => fixture.commit(work)

  test('calls no handler in a transaction that is over, and calls it once in the next', async () => {
    await push('a')
    const late = Promise.withResolvers<void>()
    let holds = 0
    const own = fixture.tasks
    const repository = {
      ...own,
      hold: async (...args: Parameters<Tasks['hold']>) => {
        const holding = await own.hold(...args)
        if (holds++ === 0) await late.promise
        return holding
      },
    } as Tasks
    const decided: string[] = []
    await using node = fixture.nodeOf({ repository, transactions: deaf, statementTimeoutMs })
    node.process(fixture.topic, {
      concurrency: 1,
      handler: async (_, { complete }) => {
        await complete((__, held) => {
          decided.push(...held.map(({ identifier }) => identifier))
          return succeedAll(held)
        })
      },
    })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
    // The first `hold` is answered when nobody waits for it any more.
    late.resolve()
    await turns()
    // On a busy machine another attempt may take longer than it may.
    expect(holds).toBeGreaterThanOrEqual(2)
    expect(decided).toEqual(['a'])
  })

  testOn(['postgres', 'mariadb'])('limits nothing of what a handler writes, however long that takes', async () => {
    const sleep = raw(isPostgres ? 'select pg_sleep(1.5)::text as slept' : 'select sleep(1.5)')
    await push('before')
    const gate = Promise.withResolvers<never>()
    let late = 1
    const own = fixture.tasks
    const repository = {
      ...own,
      // After this timeout, the server is asked to limit the node's own statements.
      promoteDue: async (...args: Parameters<Tasks['promoteDue']>) => (late-- > 0 ? gate.promise : own.promoteDue(...args)),
    } as Tasks
    let decided = 0
    await using node = fixture.nodeOf({ repository, statementTimeoutMs })
    node.process(fixture.topic, {
      concurrency: 1,
      handler: async (_, { complete }) => {
        await complete(async (transaction, held) => {
          decided++
          await fixture.subject.execute(transaction, sleep)
          return succeedAll(held)
        })
      },
    })
    await node.start()
    await expect.poll(fixture.states).toEqual({ succeeded: 1 })
    expect(late).toBeLessThan(1)
    expect(decided).toBe(1)
  })

  test('is asked for no more when its node has stopped: a batch that came too late is left to the lease', async () => {
    let mode: 'well' | 'late' | 'gone' = 'well'
    let asked = 0
    const gate = Promise.withResolvers<void>()
    const polled = Promise.withResolvers<void>()
    const transactions: TransactionSource<AnyTransaction> = async (work, options) => {
      asked++
      if (mode === 'gone') throw new Error('Cannot use a pool after calling end on the pool')
      const result = await fixture.subject.transactions(work, options)
      if (mode === 'late' && Array.isArray(result) && result.length > 0) {
        polled.resolve()
        await gate.promise
      }
      return result
    }
    const { clock, node } = fixture.clocked({ transactions, heartbeatIntervalMs: 60_000, leaseMs: 600_000 })
    node.process(fixture.topic, { handler: () => new Map() })
    await push('a')
    mode = 'late'
    await node.start()
    await polled.promise
    let over = false
    void node.stop().then(() => (over = true))
    await expect.poll(() => (clock.advance(1_000), over)).toBe(true)
    mode = 'gone'
    asked = 0
    gate.resolve()
    for (let count = 0; count < 20; count++) {
      await turns()
      clock.advance(10_000)
    }
    expect(asked).toBe(0)
  })

  test('by a second stop that allows it less time takes no longer than that', async () => {
    await push('a')
    const { clock, node, pass } = fixture.clocked()
    const held = Promise.withResolvers<void>()
    const manager = node.process(fixture.topic, {
      handler: async () => {
        held.resolve()
        return new Promise(() => {})
      },
    })
    await node.start()
    await held.promise
    const patient = manager.stop({ graceMs: 3_600_000 })
    const beganMs = clock.monotonicMs()
    const stopped = node.stop({ graceMs: 100, abortMs: 100, leaveMs: 800 })
    let over = false
    void stopped.then(() => (over = true))
    await expect.poll(() => (over || pass(100), over)).toBe(true)
    // Each part of the stop may end a step late.
    expect(clock.monotonicMs() - beganMs).toBeLessThanOrEqual(2_000)
    expect(await patient).toEqual(await stopped)
  })

  test('was not lost for a push, which may be there: that it is unknown is said', async () => {
    const gate = Promise.withResolvers<never>()
    const repository = { ...fixture.tasks, push: () => gate.promise } as unknown as Tasks
    await fixture.commit(async (transaction) => {
      // The connection is open already, so only the push can take too long.
      const transactions: TransactionSource<AnyTransaction> = Object.assign(
        <Result>(work: (transaction: AnyTransaction) => Result | Promise<Result>) => fixture.commit(work),
        {
          autocommit: async <Result>(work: (given: AnyTransaction) => Result | Promise<Result>): Promise<Result> =>
            work(transaction),
        },
      )
      const node = fixture.nodeOf({ repository, transactions, statementTimeoutMs: 100 })
      const refused = await node.submit(fixture.topic, 'a').catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(TaskError)
      expect(refused).toMatchObject({ code: 'DATABASE_UNAVAILABLE', data: { outcome: 'unknown' } })
      await node.stop()
    })
  })
})
