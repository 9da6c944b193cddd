/** What PostgreSQL says of its own limits under codes that mean other things too: a queue of notifications that is full, and a plan that is stale. */
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, pgListener, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import { codeOf } from '@taskstream/task-testing/suite'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startPostgres } from '../databases/postgres-server.ts'
import type { PostgresServer } from '../databases/postgres-server.ts'

describe('a server of PostgreSQL', () => {
  let server: PostgresServer
  let pool: pg.Pool
  const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPg })
  beforeAll(async () => {
    server = await startPostgres({ settings: { max_notify_queue_pages: '64' } })
    pool = new pg.Pool({ connectionString: server.url, max: 4 })
    pool.on('connect', (client) => client.on('error', () => {}))
    pool.on('error', () => {})
    await tasks.migrate(pgTransactions(pool))
    await pgTransactions(pool)((client) => tasks.initialize(client, 'mail'))
  })
  afterAll(async () => {
    await pool.end()
    await server.stop()
  })
  const push = (): Promise<unknown> => pgTransactions(pool, { retries: 0 })((client) => tasks.push(client, 'mail', 'a'))

  test('whose queue of notifications is full is short of something, until it is empty and a listener has looked', async () => {
    const listener = pgListener(() => new pg.Client(server.url), { pingMs: 1_000 })
    const listening = await listener.listen({ onTasks: () => {}, onDisconnected: () => {} })
    // Another application listens, and does not read.
    const other = new pg.Client(server.url)
    await other.connect()
    await other.query('listen other')
    await other.query('begin')
    await other.query('select 1')
    const fill = (size: number, count: number): Promise<unknown> =>
      pool.query(`select pg_notify('other', repeat('x', $1) || g) from generate_series(1, $2) g`, [size, count])
    for (const [size, count] of [
      [7_000, 10],
      [1, 1],
    ] as const)
      while (
        (await fill(size, count).then(
          () => 'taken',
          () => 'full',
        )) === 'taken'
      );
    expect(await codeOf(push)).toBe('DATABASE_BUSY')
    await other.query('rollback')
    await other.end()
    await expect
      .poll(
        () =>
          push().then(
            () => 'pushed',
            ({ code }) => code as string,
          ),
        { timeout: 30_000 },
      )
      .toBe('pushed')
    await listening[Symbol.asyncDispose]()
  })

  test('that has changed the type of a column has a poll run again, whose statement was prepared before', async () => {
    // One connection, which has prepared the statement.
    const only = new pg.Pool({ connectionString: server.url, max: 1 })
    const owner = sqlTaskRepository({ dialect: postgres(), adapter: fromPg })
    const transactions = pgTransactions(only)
    await transactions((client) => owner.register(client))
    const polled = async (count: number): Promise<number> => {
      let found = 0
      for (let polls = 0; polls < count; polls++) {
        await push()
        found += (await transactions((client) => owner.poll(client, 'mail'))).length
      }
      return found
    }
    await polled(20)
    await pool.query('drop view taskstream.task_pretty')
    await pool.query('alter table taskstream.task alter column identifier type varchar(500)')
    expect(await polled(20)).toBeGreaterThan(15)
    await only.end()
  })
})
