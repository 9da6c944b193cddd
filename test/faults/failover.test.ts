/** The primary is killed, its synchronous standby promoted, and work goes on there with all that was committed. */
import { TaskDecision } from '@taskstream/task-api'
import type { FilterState, TaskCount, TransactionSource } from '@taskstream/task-api'
import { systemClock, TaskNode } from '@taskstream/task-processor'
import type { Clock } from '@taskstream/task-processor'
import { raw, sql } from '@taskstream/task-sql'
import { pgListener, pgTransactions } from '@taskstream/task-sql/pg'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { codeOf } from '@taskstream/task-testing/suite'
import { startPostgres } from '../databases/postgres-server.ts'
import type { PostgresServer } from '../databases/postgres-server.ts'
import { openPostgres } from '../engines/postgres.ts'
import { canRun } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'

const aDay = 86_400_000

/** A primary with a standby that every commit waits for, and what a user has of the two. */
async function openCluster(): Promise<
  AsyncDisposable & {
    readonly primary: PostgresServer
    readonly standby: PostgresServer
    /** On the standby, also before it is promoted. */
    readonly follower: Subject
    readonly urls: readonly string[]
    readonly transactions: TransactionSource<AnyTransaction>
    ask(statement: string): Promise<pg.QueryResult>
    promote(): Promise<void>
  }
> {
  const stack = new AsyncDisposableStack()
  const primary = stack.use(await startPostgres({ durable: true }))
  const standby = stack.use(await primary.standby('follower'))
  // The standby comes first: whoever takes what is given first is wrong.
  const urls = [standby.url, primary.url]
  const pools = urls.map((connectionString) => new pg.Pool({ connectionString, connectionTimeoutMillis: 2_000 }))
  for (const pool of pools) {
    pool.on('error', () => {})
    stack.defer(() => pool.end())
  }
  const follower = stack.use(await openPostgres(standby.url))
  const ask = (statement: string): Promise<pg.QueryResult> => pools[0]!.query(statement)
  return {
    primary,
    standby,
    follower,
    urls,
    transactions: pgTransactions(pools) as TransactionSource<AnyTransaction>,
    ask,
    promote: async () => {
      const { rows } = await ask('select pg_promote(true) as promoted')
      expect(rows).toEqual([{ promoted: true }])
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

describe.skipIf(!canRun)('a primary that is killed', () => {
  test('leaves all that was committed to its standby, where a node, its listener and its producers go on', async () => {
    await using cluster = await openCluster()
    const { transactions, follower } = cluster
    const tasks = follower.tasks()
    await tasks.migrate(transactions)
    await transactions(async (transaction) => {
      await tasks.initialize(transaction, 'work')
      await follower.execute(transaction, raw('create table effect (identifier text)'))
    })
    const { rows: followers } = await transactions((transaction: pg.PoolClient) =>
      transaction.query('select application_name, state, sync_state from pg_stat_replication'),
    )
    expect(followers).toEqual([{ application_name: 'follower', state: 'streaming', sync_state: 'sync' }])

    /** Known to be committed, and those of which nobody knows. */
    const committed: string[] = []
    const doubtful: string[] = []
    let completed = 0
    const errors: [activity: string, error: unknown][] = []
    let polledInVain = 0
    /** Whether the listener of the node is connected, as the node tells it. */
    let isListening = true
    /** While it is set, no pause of the node ends by itself. */
    let isStill = false
    const clock: Clock = {
      ...systemClock,
      after: (ms, callback) => {
        const ring = (): void => {
          if (isStill) cancel = systemClock.after(10, ring)
          else callback()
        }
        let cancel = systemClock.after(ms, ring)
        return () => cancel()
      },
    }
    const node = new TaskNode({
      repository: tasks,
      transactions,
      clock,
      notifier: pgListener(cluster.urls.map((url) => () => new pg.Client({ connectionString: url }))),
      heartbeatIntervalMs: 100,
      leaseMs: 60_000,
      listener: {
        onComplete: ({ completion }) => (completed += completion.completed.length),
        onEmpty: () => void polledInVain++,
        onError: ({ activity, error }) => {
          errors.push([activity, error])
          if (activity === 'listen') isListening = false
        },
        onRecovered: ({ activity }) => {
          if (activity === 'listen') isListening = true
        },
      },
    })
    node.process('work', {
      size: 20,
      idleMs: aDay,
      retry: () => 1,
      handler: async (_, { complete }) => {
        await complete(async (transaction, held) => {
          for (const { identifier } of held)
            await follower.execute(transaction, sql`insert into effect (identifier) values (${identifier})`)
          return new Map(held.map((task) => [task, TaskDecision.success()]))
        })
      },
    })
    await node.start()
    const enough = new AbortController()
    const produce = async (): Promise<void> => {
      for (let index = 0; !enough.signal.aborted; index++) {
        const identifiers = [`t${index}a`, `t${index}b`]
        const code = await codeOf(() =>
          transactions(async (transaction) => void (await tasks.push(transaction, 'work', identifiers))),
        )
        if (code === undefined) committed.push(...identifiers)
        else {
          expect(['DATABASE_UNAVAILABLE', 'DATABASE_READ_ONLY']).toContain(code)
          doubtful.push(...identifiers)
        }
      }
    }
    const producing = produce()
    await expect.poll(() => completed, { interval: 1 }).toBeGreaterThan(300)
    await cluster.primary.kill()
    await cluster.promote()
    const before = { committed: committed.length, completed }
    await expect.poll(() => committed.length, { interval: 1 }).toBeGreaterThan(before.committed + 300)
    enough.abort()
    await producing

    type Counts = ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>
    const states = async (): Promise<FilterState[]> => {
      const counts = await transactions<Counts>((transaction) => tasks.count(transaction))
      return [...(counts.get('work')?.keys() ?? [])]
    }
    await expect.poll(states, { timeout: 60_000 }).toEqual(['succeeded'])
    // The last push is heard of by nothing but the listener, now on the other server.
    await expect.poll(() => isListening, { timeout: 60_000 }).toBe(true)
    expect(errors.map(([activity]) => activity)).toContain('listen')
    isStill = true
    polledInVain = 0
    node.wake()
    await expect.poll(() => polledInVain).toBeGreaterThan(0)
    await transactions((transaction) => tasks.push(transaction, 'work', 'last'))
    committed.push('last')
    const effects = async (): Promise<string[]> =>
      (await cluster.ask('select identifier from effect')).rows.map(({ identifier }: { identifier: string }) => identifier)
    await expect.poll(effects).toContain('last')
    isStill = false
    await node.stop()

    const applied = await effects()
    expect(new Set(applied).size).toBe(applied.length)
    expect(committed.filter((identifier) => !applied.includes(identifier))).toEqual([])
    const known = new Set([...committed, ...doubtful])
    expect(applied.filter((identifier) => !known.has(identifier))).toEqual([])
    expect(completed).toBeGreaterThan(before.completed)
    console.log(
      `${before.committed} tasks committed before, ${committed.length - before.committed} after, ${doubtful.length} in doubt of which ` +
        `${applied.length - committed.length} were committed; ${errors.length} reports`,
    )
  })

  test('is looked for once, and a server that is read-only is not written to', async () => {
    await using cluster = await openCluster()
    const { transactions, follower, primary, standby } = cluster
    const tasks = follower.tasks()
    await tasks.migrate(transactions)
    await transactions((transaction) => tasks.initialize(transaction, 'work'))

    // A standby by itself says what it is, and so does a transaction on it.
    const push = (): Promise<unknown> => follower.transactions((transaction) => tasks.push(transaction, 'work', 'a'))
    // It is told of the tables a moment after they were committed.
    await expect.poll(() => codeOf(push)).toBe('DATABASE_READ_ONLY')
    const portOf = (): Promise<unknown> =>
      transactions(async (transaction: pg.PoolClient) => {
        const { rows } = await transaction.query<{ port: number }>('select inet_server_port() as port')
        return rows[0]?.port
      })
    expect(await portOf()).toBe(primary.connection.port)
    // A primary may be told to take no writes; its connections stay.
    await transactions((transaction: pg.PoolClient) =>
      transaction.query(`alter database postgres set default_transaction_read_only = on`),
    )
    await using others = new AsyncDisposableStack()
    const pools = cluster.urls.map((connectionString) => new pg.Pool({ connectionString, max: 1 }))
    for (const pool of pools) {
      pool.on('error', () => {})
      others.defer(() => pool.end())
    }
    const other = pgTransactions(pools)
    expect(await codeOf(() => other(() => 'written'))).toBe('DATABASE_READ_ONLY')
    await transactions((transaction: pg.PoolClient) =>
      transaction.query(`set transaction read write; alter database postgres reset default_transaction_read_only`),
    )
    expect(await codeOf(() => other(() => 'written'))).toBe('written')

    await primary.kill()
    // Nobody is the primary now.
    expect(await codeOf(portOf)).toBe('DATABASE_READ_ONLY')
    await cluster.promote()
    expect(await Promise.all([portOf(), portOf(), portOf()])).toEqual(Array.from({ length: 3 }, () => standby.connection.port))
    expect(await transactions((transaction) => tasks.push(transaction, 'work', 'b'))).toHaveLength(1)
    await standby.kill()
    // A server process outlives its killed parent for as long as it is busy.
    await expect.poll(() => codeOf(portOf)).toBe('DATABASE_UNAVAILABLE')
  })
})
