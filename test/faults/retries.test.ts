/** Transactions that are in each other's way, and connections that are lost before a commit: what is run again, and what is not. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { Completion, HeldTask, TaskErrorCode, TransactionSource } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import { pgTransactions } from '@taskstream/task-sql/pg'
import type { PgPool } from '@taskstream/task-sql/pg'
import { TaskNode } from '@taskstream/task-processor'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { codeOf, names, openFixture } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'
import { canRun, engine } from '../subject.ts'
import type { AnyTransaction, Session, Subject } from '../subject.ts'

describe.skipIf(!canRun)('a transaction of our own', () => {
  let fixture: Fixture<Subject>
  let pool: pg.Pool
  let rival: Session
  let transactions: TransactionSource<AnyTransaction>
  beforeAll(async () => {
    fixture = await openFixture(engine)
    pool = new pg.Pool({ connectionString: fixture.subject.location.at, max: 4 })
    pool.on('error', () => {})
    transactions = pgTransactions(pool)
    rival = await fixture.subject.session()
    await fixture.commit((transaction) =>
      fixture.subject.execute(transaction, raw('create table account (name text primary key, amount int)')),
    )
  })
  afterAll(async () => {
    await pool.end()
    await fixture[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    await fixture.nextTopic()
    await fixture.commit((transaction) =>
      fixture.subject.execute(transaction, raw(`truncate account; insert into account values ('a', 0), ('b', 0)`)),
    )
  })

  const add = (transaction: AnyTransaction, name: string): Promise<unknown> =>
    fixture.subject.execute(transaction, sql`update account set amount = amount + 1 where name = ${name}`)
  const amounts = async (): Promise<number[]> =>
    (
      await fixture.commit((transaction) => fixture.subject.execute(transaction, raw('select amount from account order by name')))
    ).map(({ amount }) => Number(amount))
  const pidOf = async (transaction: AnyTransaction): Promise<number> =>
    Number((await fixture.subject.execute(transaction, raw('select pg_backend_pid() as pid')))[0]?.['pid'])
  const cut = (pid: number): Promise<unknown> =>
    fixture.commit((transaction) => fixture.subject.execute(transaction, sql`select pg_terminate_backend(${pid}::int, 10000)`))
  const isWaiting = async (pid: number): Promise<boolean> => {
    const [row] = await fixture.commit((transaction) =>
      fixture.subject.execute(transaction, sql`select cardinality(pg_blocking_pids(${pid}::int)) as blockers`),
    )
    return Number(row?.['blockers']) > 0
  }

  /** Takes a, then b, while the rival has taken b and waits for a: the server ends one of the two, and here always ours. */
  const deadlock = async (source: TransactionSource<AnyTransaction>): Promise<{ runs: number; outcome: unknown }> => {
    let runs = 0
    let rivalDone: Promise<void> = Promise.resolve()
    const outcome = await codeOf(() =>
      source(async (transaction) => {
        await fixture.tasks.push(transaction, fixture.topic, `run ${++runs}`)
        if (runs > 1) {
          await rivalDone
          await add(transaction, 'a')
          return 'committed'
        }
        // Whose turn comes first to look for deadlocks is the one that ends.
        await fixture.subject.execute(transaction, raw(`set local deadlock_timeout = '10ms'`))
        await add(transaction, 'a')
        await rival.begin()
        await fixture.subject.execute(rival.transaction, raw(`set local deadlock_timeout = '1h'`))
        await add(rival.transaction, 'b')
        const rivalPid = await pidOf(rival.transaction)
        rivalDone = add(rival.transaction, 'a').then(() => rival.commit())
        await expect.poll(() => isWaiting(rivalPid), { interval: 1 }).toBe(true)
        await add(transaction, 'b')
        return 'never'
      }),
    )
    await rivalDone
    return { runs, outcome }
  }

  test('that loses a deadlock is run again, and commits once', async () => {
    expect(await deadlock(transactions)).toEqual({ runs: 2, outcome: 'committed' })
    expect(names(await fixture.page())).toEqual(['run 2'])
    expect(await amounts()).toEqual([2, 1])
  })

  test('is not run again without retries', async () => {
    // An error of a statement of the user's own stays the driver's.
    expect(await deadlock(pgTransactions(pool, { retries: 0 }))).toEqual({ runs: 1, outcome: '40P01' })
    expect(await fixture.page()).toEqual([])
    expect(await amounts()).toEqual([1, 1])
  })

  test('that fails to serialize is run again, as often as it may and no more', async () => {
    for (const retries of [0, 1, 3]) {
      let runs = 0
      const outcome = await codeOf(() =>
        pgTransactions(pool, { retries })(async (transaction: AnyTransaction) => {
          runs++
          await fixture.subject.execute(transaction, raw('set transaction isolation level repeatable read'))
          await fixture.subject.execute(transaction, raw('select amount from account'))
          await fixture.commit((other) => add(other, 'a'))
          await add(transaction, 'a')
        }),
      )
      expect([runs, outcome]).toEqual([retries + 1, '40001'])
    }
    expect(await amounts()).toEqual([1 + 2 + 4, 0])
  })

  test('that fails to serialize as it commits is run again: the server has said that it rolled back', async () => {
    let runs = 0
    await transactions(async (transaction) => {
      runs++
      await fixture.subject.execute(transaction, raw('set transaction isolation level serializable'))
      await fixture.subject.execute(transaction, raw(`select amount from account where name = 'a'`))
      await add(transaction, 'b')
      if (runs > 1) return
      // Each reads what the other writes, and the other commits first.
      await rival.begin()
      await fixture.subject.execute(rival.transaction, raw('set transaction isolation level serializable'))
      await fixture.subject.execute(rival.transaction, raw(`select amount from account where name = 'b'`))
      await add(rival.transaction, 'a')
      await rival.commit()
    })
    expect(runs).toBe(2)
    expect(await amounts()).toEqual([1, 1])
  })

  test('whose connection is ended between two statements, or before its commit, is run again', async () => {
    for (const moment of ['between', 'before the commit']) {
      let runs = 0
      await transactions(async (transaction) => {
        await fixture.tasks.push(transaction, fixture.topic, `${moment} ${++runs}`)
        if (runs === 1) await cut(await pidOf(transaction))
        if (moment === 'between') await fixture.tasks.push(transaction, fixture.topic, `${moment} again`)
      })
      expect(runs).toBe(2)
    }
    expect(names(await fixture.page())).toEqual(['between 2', 'between again', 'before the commit 2'])
  })

  test('is run again when its connection was lost, whatever was made of the error, and not for an error that only looks like it', async () => {
    let runs = 0
    await transactions(async (transaction) => {
      await fixture.tasks.push(transaction, fixture.topic, `run ${++runs}`)
      if (runs > 1) return
      await cut(await pidOf(transaction))
      await add(transaction, 'a').catch((cause: unknown) => {
        throw new Error('the account could not be written', { cause })
      })
    })
    expect([runs, names(await fixture.page())]).toEqual([2, ['run 2']])
    let calls = 0
    const called = codeOf(() =>
      transactions(async () => {
        calls++
        await once(connect(1, '127.0.0.1'), 'connect')
      }),
    )
    expect([await called, calls]).toEqual(['ECONNREFUSED', 1])
  })

  test('whose commit was sent and not answered is never run again', async () => {
    let runs = 0
    const unanswering: PgPool = {
      connect: async () => {
        const client = await pool.connect()
        return {
          on: (event, listener) => client.on(event, listener),
          off: (event, listener) => client.off(event, listener),
          release: (error) => client.release(error),
          query: async (text: string, values: unknown[]) => {
            if (text !== 'commit') return client.query(text, values)
            const pid = await pidOf(client)
            await client.query('commit')
            await cut(pid)
            return client.query('select 1')
          },
        }
      },
    }
    const outcome = codeOf(() =>
      (pgTransactions(unanswering) as TransactionSource<AnyTransaction>)(async (transaction) => {
        await fixture.tasks.push(transaction, fixture.topic, `run ${++runs}`)
      }),
    )
    expect([await outcome, runs]).toEqual(['DATABASE_UNAVAILABLE', 1])
    expect(names(await fixture.page())).toEqual(['run 1'])
  })

  test('is at read committed, whatever the default is', async () => {
    const strict = new pg.Pool({
      connectionString: fixture.subject.location.at,
      options: '-c default_transaction_isolation=serializable',
    })
    const level = await pgTransactions(strict)(async (client) => (await client.query('show transaction_isolation', [])).rows)
    await strict.end()
    expect(level).toEqual([{ transaction_isolation: 'read committed' }])
  })

  test('is not run again when the only server cannot be reached', async () => {
    let connects = 0
    const nowhere = new pg.Pool({ host: '127.0.0.1', port: 1 })
    const counting: PgPool = {
      connect: () => {
        connects++
        return nowhere.connect()
      },
    }
    expect(await codeOf(() => pgTransactions(counting)(() => {}))).toBe('DATABASE_UNAVAILABLE')
    expect(connects).toBe(1)
    await nowhere.end()
  })

  test('that finds its server read-only says so, and leaves its connection', async () => {
    const pids = new Set<number>()
    const push = transactions(async (transaction) => {
      pids.add(await pidOf(transaction))
      await fixture.subject.execute(transaction, raw('set transaction read only'))
      await fixture.tasks.push(transaction, fixture.topic, 'a')
    })
    await expect(push).rejects.toMatchObject({ code: 'DATABASE_READ_ONLY' })
    expect(pids.size).toBe(4)
  })

  test('of a handler that is run again completes its tasks once', async () => {
    const calls: string[][] = []
    await fixture.push('a', 'b')
    await using node = new TaskNode({ repository: fixture.subject.tasks(), transactions })
    const completed = Promise.withResolvers<void>()
    node.process(fixture.topic, {
      handler: async (_: readonly HeldTask[], { complete }) => {
        await complete(async (transaction, held) => {
          calls.push(names(held))
          await add(transaction, 'a')
          if (calls.length === 1) await cut(await pidOf(transaction))
          return new Map(held.map((task) => [task, TaskDecision.success()]))
        })
        completed.resolve()
      },
    })
    await node.start()
    await completed.promise
    expect(calls).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ])
    expect(await fixture.states()).toEqual({ succeeded: 2 })
    expect(await amounts()).toEqual([1, 0])
  })

  test('of a node that finds its server read-only is repeated until it takes writes again', async () => {
    const ours = new pg.Pool({ connectionString: fixture.subject.location.at, application_name: 'ours' })
    ours.on('error', () => {})
    const name = new URL(fixture.subject.location.at).pathname.slice(1)
    const admin = (statement: string): Promise<unknown> =>
      fixture.commit((transaction) => fixture.subject.execute(transaction, raw(statement)))
    const refused = Promise.withResolvers<void>()
    const tasks = fixture.subject.tasks()
    await fixture.push('a')
    {
      await using node = new TaskNode({
        repository: {
          ...tasks,
          complete: async (...args: Parameters<typeof tasks.complete>) => {
            const outcome = await codeOf(() => tasks.complete(...args))
            if (outcome === 'DATABASE_READ_ONLY') {
              refused.resolve()
              await admin(`alter database ${name} reset default_transaction_read_only`)
            }
            if (typeof outcome === 'string') throw new TaskError(outcome as TaskErrorCode, 'passed on')
            return outcome as Completion
          },
        },
        transactions: pgTransactions(ours, { retries: 0 }),
      })
      node.process(fixture.topic, {
        handler: async (batch) => {
          await admin(`alter database ${name} set default_transaction_read_only = on`)
          await admin(`select pg_terminate_backend(pid, 10000) from pg_stat_activity where application_name = 'ours'`)
          return new Map(batch.map((task) => [task, TaskDecision.success()]))
        },
      })
      await node.start()
      await expect.poll(() => fixture.states()).toEqual({ succeeded: 1 })
    }
    await ours.end()
    await refused.promise
  })
})
