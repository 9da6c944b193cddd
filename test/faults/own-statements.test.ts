/** What goes wrong in the transaction that a handler completes in: the database's word is nobody's fault, and everything else is the handler's. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask, TransactionSource } from '@taskstream/task-api'
import { fixed } from '@taskstream/task-processor'
import type { HandlerContext } from '@taskstream/task-processor'
import { raw, sql } from '@taskstream/task-sql'
import { mysql2Transactions } from '@taskstream/task-sql/mysql2'
import { pgTransactions } from '@taskstream/task-sql/pg'
import { createPool } from 'mysql2/promise'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openNodeFixture } from '../e2e/fixture.ts'
import type { NodeFixture } from '../e2e/fixture.ts'
import { canRun, isPostgres } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'

const quiet = { heartbeatIntervalMs: 20_000, leaseMs: 240_000, maintenanceIntervalMs: 120_000 }
const succeedAll = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, TaskDecision.success()]))

describe.skipIf(!canRun)('in the completing transaction of a handler', () => {
  let fixture: NodeFixture
  let transactions: TransactionSource<AnyTransaction>
  let close: () => Promise<void>
  beforeAll(async () => {
    fixture = await openNodeFixture('own')
    const { at } = fixture.subject.location
    // What is repeated is to be repeated by the node.
    if (isPostgres) {
      const pool = new pg.Pool({ connectionString: at, max: 4 })
      pool.on('error', () => {})
      transactions = pgTransactions(pool, { retries: 0 })
      close = () => pool.end()
    } else {
      const pool = createPool({ uri: at, connectionLimit: 4 })
      transactions = mysql2Transactions(pool, { retries: 0 })
      close = () => pool.end()
    }
    await execute(sql`create table effect (identifier varchar(99))`)
  })
  afterAll(async () => {
    await close()
    await fixture[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    await fixture.next()
    await fixture.push('a', 'b')
  })

  const execute = (statement: ReturnType<typeof sql>): Promise<unknown> =>
    fixture.subject.transactions((transaction) => fixture.subject.execute(transaction, statement))
  const run = (transaction: AnyTransaction, text: string): Promise<unknown> => transaction.query(text)
  const write = async (transaction: AnyTransaction): Promise<void> => {
    await fixture.subject.execute(transaction, sql`insert into effect (identifier) values (${fixture.topic})`)
  }
  const effects = async (): Promise<number> => {
    const { subject, topic } = fixture
    const rows = await subject.transactions((transaction) =>
      subject.execute(transaction, sql`select identifier from effect where identifier = ${topic}`),
    )
    return rows.length
  }
  /** Cancels, or waits in vain for, whatever comes in its way; in words of the server. */
  const cancelled = isPostgres
    ? `set local statement_timeout = '50ms'; select pg_sleep(100)`
    : 'set statement max_statement_time = 0.05 for select sleep(100)'
  /** What is told of a node that handles both tasks with `work` in the completing transaction, and how often that was run. */
  const handle = async (
    work: (transaction: AnyTransaction, count: number) => unknown,
    expected: Record<string, number>,
    mode: 'leased' | 'transactional' = 'leased',
  ): Promise<{ told: unknown[]; calls: number; handled: number }> => {
    const told: unknown[] = []
    let calls = 0
    let handled = 0
    await using node = fixture.nodeOf({
      ...quiet,
      transactions,
      listener: {
        onError: ({ activity, error }) => void told.push([activity, (error as { code?: unknown }).code]),
        onRecovered: ({ activity }) => void told.push(['recovered', activity]),
      },
    })
    node.process(fixture.topic, {
      mode,
      // The first poll of a topic is by a lease. A size of one leaves tasks for the transactions that follow.
      ...(mode === 'transactional' && { size: 1 }),
      concurrency: 1,
      idleMs: 20,
      handler: async (_: readonly HeldTask[], { complete }: HandlerContext<AnyTransaction>) => {
        handled++
        await complete(async (transaction, held) => {
          if (held.length > 0) await write(transaction)
          await work(transaction, ++calls)
          return succeedAll(held)
        })
      },
    })
    await node.start()
    await expect.poll(fixture.states).toEqual(expected)
    return { told, calls, handled }
  }
  const passing = (code: string): unknown[] => [
    ['complete', code],
    ['recovered', 'complete'],
  ]

  test('a statement that takes longer than it may is run again with all of it, and the tasks are not charged', async () => {
    const { told, calls, handled } = await handle((transaction, count) => (count < 3 ? run(transaction, cancelled) : undefined), {
      succeeded: 2,
    })
    expect([calls, handled, told]).toEqual([3, 1, passing('DATABASE_BUSY')])
    expect(await effects()).toBe(1)
    expect((await fixture.page()).map(({ tries }) => tries)).toEqual([1, 1])
  })

  test('a statement that always takes longer is run again until the time of its topic is up, and no longer', async () => {
    const calledMs: number[] = []
    const abandoned = Promise.withResolvers<unknown>()
    const { clock, node, pass } = fixture.clocked({ ...quiet, transactions })
    await using _ = node
    node.process(fixture.topic, {
      concurrency: 1,
      timeoutMs: 100_000,
      abortMs: 10,
      handler: async (__: readonly HeldTask[], { complete }: HandlerContext<AnyTransaction>) => {
        await complete(async (transaction, held) => {
          calledMs.push(clock.monotonicMs())
          await run(transaction, cancelled)
          return succeedAll(held)
        }).catch(abandoned.resolve)
      },
    })
    await node.start()
    await expect.poll(() => (pass(100), calledMs.length)).toBeGreaterThan(1)
    await expect.poll(() => (pass(10_000), fixture.states())).toEqual({ failed: 2 })
    expect((await fixture.page()).map(({ output }) => output?.includes('longer than 100000 ms'))).toEqual([true, true])
    // The handler hears of it, and nothing is run for it any more.
    await abandoned.promise
    expect(calledMs.at(-1)).toBeGreaterThan(50_000)
    const before = calledMs.length
    clock.advance(10_000)
    await node.stop()
    expect(calledMs.length).toBe(before)
  })

  test('the same, where the handler has wrapped what it was told', async () => {
    const { calls, handled } = await handle(
      async (transaction, count) => {
        if (count > 1) return
        await run(transaction, cancelled).catch((cause: unknown) => {
          throw new Error('the account could not be read', { cause })
        })
      },
      { succeeded: 2 },
    )
    expect([calls, handled, await effects()]).toEqual([2, 1, 1])
  })

  test('a connection that is lost has all of it run again, whatever was made of the error', async () => {
    const { told, calls, handled } = await handle(
      async (transaction, count) => {
        if (count > 1) return
        const [id, kill] = isPostgres
          ? [transaction.processID as number, 'select pg_terminate_backend($, 10000)']
          : [transaction.threadId as number, 'kill $']
        await execute(raw(kill.replace('$', String(id))))
        await write(transaction).catch(() => {
          throw new Error('no word of why')
        })
      },
      { succeeded: 2 },
    )
    expect([calls, handled, told, await effects()]).toEqual([2, 1, passing('DATABASE_UNAVAILABLE'), 1])
  })

  test('a service that refuses its connection is the handler failing, under its policy', async () => {
    let handled = 0
    const told: unknown[] = []
    await using node = fixture.nodeOf({
      ...quiet,
      transactions,
      listener: { onError: ({ activity, error }) => void told.push([activity, (error as { code?: unknown }).code]) },
    })
    node.process(fixture.topic, {
      concurrency: 1,
      retry: fixed({ tries: 2, afterMs: 0 }),
      handler: async (_: readonly HeldTask[], { complete }: HandlerContext<AnyTransaction>) => {
        handled++
        await complete(async (transaction, held) => {
          await write(transaction)
          await once(connect(1, '127.0.0.1'), 'connect')
          return succeedAll(held)
        })
      },
    })
    await node.start()
    await expect.poll(fixture.states).toEqual({ failed: 2 })
    expect([handled, told]).toEqual([
      2,
      [
        ['handle', 'ECONNREFUSED'],
        ['handle', 'ECONNREFUSED'],
      ],
    ])
    expect(await effects()).toBe(0)
  })

  test('an error of its own is the handler failing, once', async () => {
    const { told, calls } = await handle((transaction) => run(transaction, 'select nobody_has_made_this'), { failed: 2 })
    expect([calls, told]).toEqual([1, [['handle', isPostgres ? '42703' : 'ER_BAD_FIELD_ERROR']]])
    expect(await effects()).toBe(0)
  })

  test('in transactional mode it is no other, and what is rolled back for the database is not charged', async () => {
    await fixture.push('c')
    let inTransaction = 0
    const { told } = await handle(
      async (transaction) => {
        // The first poll is by a lease, which others see. What a transaction holds, only the transaction sees.
        const leased = (await fixture.states())['active'] ?? 0
        if (leased > 0 || inTransaction++ > 0) return
        await run(transaction, cancelled)
      },
      { succeeded: 3 },
      'transactional',
    )
    // The task of the transaction that was rolled back is polled by a lease, and the last one in a transaction again.
    expect([inTransaction, told]).toEqual([2, [expect.arrayContaining(['complete'])]])
    expect((await fixture.page()).map(({ tries }) => tries)).toEqual([1, 1, 1])
    expect(await effects()).toBe(3)
  })

  test('outside of it, the same words are the handler failing', async () => {
    const told: unknown[] = []
    await using node = fixture.nodeOf({
      ...quiet,
      transactions,
      listener: { onError: ({ activity }) => void told.push(activity) },
    })
    node.process(fixture.topic, {
      concurrency: 1,
      handler: async () => {
        // A transaction of its own, in a database of its own.
        await transactions((transaction) => run(transaction, cancelled))
      },
    })
    await node.start()
    await expect.poll(fixture.states).toEqual({ failed: 2 })
    expect(told).toEqual(['handle'])
  })
})
