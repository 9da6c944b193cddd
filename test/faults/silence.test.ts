/** Connections that fall silent, and tables that somebody has locked: nothing of a node waits for ever, and nothing stays held. */
import { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { BatchHandler, ProcessOptions, StopReport, TaskNode } from '@taskstream/task-processor'
import { raw, sql } from '@taskstream/task-sql'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { useNodeFixture } from '../e2e/fixture.ts'
import type { NodeOptions } from '../e2e/fixture.ts'
import { administratorOf } from '../databases/least-privilege.ts'
import { canRun, isMysql, textColumn } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'
import { countInVain } from './in-vain.ts'
import { openPool } from './proxied-pool.ts'
import type { Pool } from './proxied-pool.ts'
import { openSilentProxy } from './silent-proxy.ts'
import type { SilentProxy } from './silent-proxy.ts'

const succeedAll = (tasks: readonly HeldTask[]): Map<HeldTask, TaskDecision> =>
  new Map(tasks.map((task) => [task, TaskDecision.success()]))

describe.skipIf(!canRun)('a database that says nothing', () => {
  const fixture = useNodeFixture('silence')
  let proxy: SilentProxy
  let pool: Pool
  beforeAll(async () => {
    await fixture.complete(async (transaction) => {
      await fixture.subject.execute(transaction, sql`create table effect (identifier ${textColumn})`)
      return { completed: [], lost: [] }
    })
  })
  beforeEach(async () => {
    proxy = await openSilentProxy(fixture.subject.location.at)
    pool = openPool(proxy.url)
  })
  afterEach(() => proxy[Symbol.asyncDispose]())

  const identifiers = Array.from({ length: 20 }, (_, index) => `t${index}`)
  const nodeOf = (options: NodeOptions = {}): TaskNode<AnyTransaction> =>
    fixture.nodeOf({ transactions: pool.transactions, statementTimeoutMs: 300, ...options })
  const effects = async (): Promise<string[]> => {
    const rows = await fixture.commit(async (transaction) => [
      ...(await fixture.subject.execute(
        transaction,
        sql`select identifier from effect where identifier like ${`${fixture.topic}/%`}`,
      )),
    ])
    return rows.map(({ identifier }) => String(identifier).slice(fixture.topic.length + 1)).toSorted()
  }
  const write = async (transaction: AnyTransaction, batch: readonly HeldTask[]): Promise<void> => {
    for (const { identifier } of batch)
      await fixture.subject.execute(
        transaction,
        sql`insert into effect (identifier) values (${`${fixture.topic}/${identifier}`})`,
      )
  }

  const answering =
    (silence: () => void): BatchHandler<AnyTransaction> =>
    (batch) => {
      silence()
      return succeedAll(batch)
    }
  const writing =
    (silence: () => void): BatchHandler<AnyTransaction> =>
    async (_, { complete }) => {
      await complete(async (transaction, held) => {
        await write(transaction, held)
        silence()
        return succeedAll(held)
      })
    }
  /** How a topic is processed, and a handler that calls `silence` once a batch is held. */
  type Mode = Omit<ProcessOptions<AnyTransaction>, 'handler'> & {
    readonly handling: (silence: () => void) => BatchHandler<AnyTransaction>
  }
  const modes: readonly [string, Mode][] = [
    ['in batches', { size: 10, handling: answering }],
    ['in small batches', { size: 1, concurrency: 10, handling: answering }],
    ['in order of priority', { size: 5, order: 'priority', handling: answering }],
    // One at a time: what a handler says in its transaction has no limit but the driver's, and of another batch it might be that.
    ['with what a handler writes', { size: 10, concurrency: 1, handling: writing }],
    ['in one transaction', { mode: 'transactional', size: 10, concurrency: 1, handling: writing }],
  ]

  describe.each(modes)('%s', (_, { handling, ...options }) => {
    beforeEach(() => (options.order ? fixture.next({ order: options.order }) : undefined))

    test('keeps nobody from completing over another connection what was held, once', async () => {
      await fixture.push(...identifiers)
      await using node = nodeOf()
      // In transactional mode the first poll is by a lease, and the second batch has a transaction to lose.
      const isTransactional = options.mode === 'transactional'
      let held = 0
      const handle = handling(() => {
        if (++held === (isTransactional ? 2 : 1)) proxy.silence()
      })
      const handled: string[] = []
      const handler: BatchHandler<AnyTransaction> = (batch, context) => {
        handled.push(...batch.map(({ identifier }) => identifier))
        return handle(batch, context)
      }
      node.process(fixture.topic, { ...options, handler })
      await node.start()
      await expect.poll(() => fixture.states()).toEqual({ succeeded: 20 })
      expect(await effects()).toEqual(handling === writing ? identifiers.toSorted() : [])
      // A batch that is rolled back with its poll is handled again.
      if (isTransactional) expect(handled.slice(20)).toEqual(handled.slice(10, 20))
    })

    test('is asked again, over another connection, by whoever polls', async () => {
      await using node = nodeOf()
      node.process(fixture.topic, { ...options, handler: handling(() => {}), idleMs: 50 })
      await node.start()
      proxy.silence()
      await fixture.push(...identifiers)
      await expect.poll(() => fixture.states()).toEqual({ succeeded: 20 })
    })
  })

  describe('while a node stops', () => {
    const times = { graceMs: 200, abortMs: 200, leaveMs: 1_600 }
    /** Far more than the sum of them, and far less than anything else that could end. */
    const late = 12_000
    const within = async <Result>(work: Promise<Result>): Promise<Result> => {
      const { promise, reject } = Promise.withResolvers<never>()
      const timer = setTimeout(() => reject(new Error(`It has not ended within ${late} ms`)), late)
      try {
        return await Promise.race([work, promise])
      } finally {
        clearTimeout(timer)
      }
    }
    const faults: readonly [string, () => Promise<AsyncDisposable | void>][] = [
      ['whose connections have fallen silent', async () => proxy.silence()],
      [
        'that has fallen silent to everybody',
        async () => {
          proxy.new = 'silent'
          proxy.silence()
        },
      ],
      [
        'that refuses new connections',
        async () => {
          proxy.new = 'refused'
          proxy.silence()
        },
      ],
      ['whose tables somebody has locked', () => lockTables()],
    ]
    const handlers: readonly [string, (onHeld: () => void) => BatchHandler<AnyTransaction>][] = [
      [
        'that lets go',
        (onHeld) =>
          async (_, { signal }) => {
            onHeld()
            await new Promise((resolve) => signal.addEventListener('abort', resolve))
            return new Map<HeldTask, TaskDecision>()
          },
      ],
      [
        'that is stuck',
        (onHeld) => async () => {
          onHeld()
          return new Promise(() => {})
        },
      ],
    ]
    const cases = faults.flatMap(([fault, begin]) => handlers.map(([how, handler]) => ({ fault, begin, how, handler })))

    test.each(cases)(
      '$fault, with a handler $how, it ends within its time, and says what it leaves',
      async ({ begin, handler }) => {
        await fixture.push('a', 'b')
        const node = nodeOf({ statementTimeoutMs: 60_000, leaseMs: 200_000 })
        const held = Promise.withResolvers<void>()
        node.process(fixture.topic, { handler: handler(held.resolve) })
        await node.start()
        await held.promise
        const fault = await begin()
        const report: StopReport = await within(node.stop(times))
        // Nothing of it keeps a connection of the pool.
        await within(pool.end().catch(() => {}))
        await fault?.[Symbol.asyncDispose]()
        const left = report.abandoned.map(({ identifier }) => identifier).toSorted()
        const returned = report.returned.map(({ identifier }) => identifier).toSorted()
        expect([...left, ...returned].toSorted()).toEqual(['a', 'b'])
        if (returned.length > 0) expect(await fixture.states()).toEqual({ ready: 2 })
      },
    )
  })

  describe('because somebody has locked its tables', () => {
    test('has been asked too late for nothing that stays held, and keeps few of those who asked', async () => {
      const { source, inVain } = countInVain(pool.transactions)
      await using node = nodeOf({ leaseMs: 120_000, transactions: source })
      node.process(fixture.topic, { handler: succeedAll, idleMs: 20 })
      await node.start()
      await fixture.push('before')
      await expect.poll(() => fixture.states()).toEqual({ succeeded: 1 })
      const due = new Date(Date.now() + 1_500)
      await fixture.push(...identifiers.map((identifier) => ({ identifier, due })))
      const lock = await lockTables()
      const before = inVain()
      // Those that the server keeps are counted all the while. Without a limit it would keep everybody that has asked.
      let most = 0
      const haveAsked = async (): Promise<boolean> => {
        most = Math.max(most, await waiting())
        return inVain() - before > 24 && Date.now() > due.getTime()
      }
      await expect.poll(haveAsked, { timeout: 30_000 }).toBe(true)
      expect(most).toBeGreaterThan(0)
      expect(most).toBeLessThan(12)
      await lock[Symbol.asyncDispose]()
      await fixture.push('after')
      await expect.poll(() => fixture.states(), { timeout: 30_000 }).toEqual({ succeeded: 22 })
    })
  })

  async function lockTables(): Promise<AsyncDisposable> {
    // Who works may lock no table.
    const session = await fixture.subject.session({ ...fixture.subject.owner, at: administratorOf(fixture.subject.location.at) })
    if (isMysql) {
      await fixture.subject.execute(session.transaction, raw('select 1'))
      await (session.transaction as unknown as { query(text: string): Promise<unknown> }).query(
        'lock tables task write, task_owner write, task_topic write',
      )
    } else {
      const lock = async (): Promise<void> => {
        await session.begin()
        await fixture.subject.execute(
          session.transaction,
          raw('lock table taskstream.task, taskstream.task_owner in access exclusive mode'),
        )
      }
      // A node that has the one and waits for the other may be there.
      await lock().catch(async (error: unknown) => {
        expect(error).toMatchObject({ code: '40P01' })
        await session.rollback()
        await lock()
      })
    }
    return {
      [Symbol.asyncDispose]: async () => {
        if (isMysql) await (session.transaction as unknown as { query(text: string): Promise<unknown> }).query('unlock tables')
        else await session.rollback()
        await session.close()
      },
    }
  }

  /** Sessions of the server that wait for the lock. */
  async function waiting(): Promise<number> {
    const [row] = await fixture.commit(async (transaction) =>
      fixture.subject.execute(
        transaction,
        isMysql
          ? sql`select count(*) as waiting from information_schema.processlist where state like 'Waiting for table%'`
          : sql`select count(*) as waiting from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
      ),
    )
    return Number(row?.['waiting'])
  }
})
