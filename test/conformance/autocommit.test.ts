/** A single statement is committed by itself if the transaction source can do that, as a transaction around one statement only costs time. */
import type { TaskDecision } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { eachTask, TaskNode } from '@taskstream/task-processor'
import { raw } from '@taskstream/task-sql'
import { fromPg, pgTransactions } from '@taskstream/task-sql/pg'
import type { PgPoolClient } from '@taskstream/task-sql/pg'
import pg from 'pg'
import { afterEach, describe, expect, test } from 'vitest'
import { canRun, subjectName, engine } from '../subject.ts'
import { names, useFixture } from '@taskstream/task-testing/suite'

describe.skipIf(!canRun)('a source without a transaction', () => {
  const fixture = useFixture(engine)
  let pool: pg.Pool
  const open = (options: pg.PoolConfig = {}): pg.Pool => {
    pool = new pg.Pool({ connectionString: fixture.subject.location.at, max: 1, ...options })
    pool.on('connect', (client) => client.on('error', () => {}))
    pool.on('error', () => {})
    return pool
  }
  afterEach(() => pool.end())

  const id = raw('select pg_current_xact_id()::text as id')
  const ids = async (client: PgPoolClient): Promise<number> => {
    const seen = [await fromPg.execute(client, id), await fromPg.execute(client, id)]
    return new Set(seen.map(([row]) => row?.['id'])).size
  }

  test('commits each statement on its own', async () => {
    const { autocommit } = pgTransactions(open())
    expect(await autocommit!(ids)).toBe(2)
    const failed = autocommit!(async (client) => {
      await fixture.tasks.push(client, fixture.topic, 'a')
      throw new Error('later')
    })
    await expect(failed).rejects.toThrow('later')
    expect(await fixture.states()).toEqual({ ready: 1 })
  })

  // Behind a pooler the setting would stay with the server's connection, and reach the next user of that connection.
  const direct = subjectName !== 'pgbouncer'
  if (direct)
    test('has a transaction after all where connections have another isolation', async () => {
      open()
      pool.on('connect', (client) => void client.query("set default_transaction_isolation = 'serializable'"))
      expect(await pgTransactions(pool).autocommit!(ids)).toBe(1)
    })

  test('never runs its work again, and gives the connection back', async () => {
    const { autocommit } = pgTransactions(open(), { retries: 100 })
    let runs = 0
    const conflict = autocommit!(async (client) => {
      runs++
      await client.query("do $$ begin raise exception 'conflict' using errcode = '40001'; end $$", [])
    })
    await expect(conflict).rejects.toMatchObject({ code: 'TRANSACTION_CONFLICT' })
    expect(runs).toBe(1)
    expect(await autocommit!(ids)).toBe(2)
  })

  test('names a server that cannot be reached', async () => {
    const { autocommit } = pgTransactions(open({ connectionString: 'postgres://127.0.0.1:1/none' }))
    await expect(autocommit!(ids)).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
  })

  test('is what a node polls and completes a topic by, once it knows its order and condition', async () => {
    await fixture.nextTopic({ condition: 'singular-by-identifier' })
    const singular = fixture.topic
    await fixture.nextTopic()
    const plain = fixture.topic
    const source = pgTransactions(open({ max: 4 }))
    const tasks = await fixture.owner()
    const way = new WeakMap<object, string>()
    const polls = new Map<string, Set<string>>()
    const completions = new Set<string>()
    const handled = Promise.withResolvers<void>()
    let left = 5
    const node = new TaskNode({
      repository: {
        ...tasks,
        poll: (transaction: never, topic: string, options: object) => {
          polls.set(topic, (polls.get(topic) ?? new Set()).add(way.get(transaction) ?? ''))
          return tasks.poll(transaction, topic, options)
        },
        complete: (transaction: never, topic: string, decisions: ReadonlyMap<HeldTask, TaskDecision>) => {
          completions.add(`${topic === plain ? 'plain' : 'singular'} ${way.get(transaction)}`)
          return tasks.complete(transaction, topic, decisions)
        },
      },
      transactions: Object.assign(
        <Result>(work: (client: PgPoolClient) => Result | Promise<Result>) =>
          source((client) => {
            way.set(client, 'transaction')
            return work(client)
          }),
        {
          autocommit: <Result>(work: (client: PgPoolClient) => Result | Promise<Result>) =>
            source.autocommit!((client) => {
              way.set(client, 'alone')
              return work(client)
            }),
        },
      ),
      listener: {
        onComplete: ({ completion }) => {
          left -= completion.completed.length
          if (left === 0) handled.resolve()
        },
      },
    })
    await fixture.commit((transaction) => fixture.tasks.push(transaction, plain, ['a', 'b']))
    await fixture.commit((transaction) => fixture.tasks.push(transaction, singular, ['a', 'a', 'a']))
    for (const topic of [plain, singular]) node.process(topic, { size: 10, handler: eachTask(() => {}) })
    await node.start()
    await handled.promise
    await node.stop()
    // The first poll finds out that the topic is singular.
    expect(completions).toEqual(new Set(['plain alone', 'singular transaction', 'singular alone']))
    expect(polls.get(plain)).toEqual(new Set(['alone']))
    expect(polls.get(singular)).toEqual(new Set(['alone', 'transaction']))
  })

  test('does for a poll what a transaction does', async () => {
    await fixture.push('a', 'b')
    const batch = await pgTransactions(open()).autocommit!(
      (client) => fixture.tasks.poll(client, fixture.topic, { size: 5 }) as HeldTask[],
    )
    expect(names(batch)).toEqual(['a', 'b'])
    expect(await fixture.complete(batch)).toEqual({ completed: batch, lost: [] })
  })
})
