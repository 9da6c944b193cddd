/** The doctor on partitioned tables: detachments that were interrupted, and too many partitions for the server's locks. */
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import { examine } from '@taskstream/task-operations'
import type { Finding } from '@taskstream/task-operations'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { complaintsAmong, findingOf } from '../conformance/examining.ts'
import { startPostgres } from '../databases/postgres-server.ts'
import type { PostgresServer } from '../databases/postgres-server.ts'

describe('the doctor on partitioned tables', () => {
  let server: PostgresServer
  let pool: pg.Pool
  const tasks = sqlTaskRepository({ dialect: postgres({ partitioned: true }), adapter: fromPg })
  beforeAll(async () => {
    server = await startPostgres({ durable: true, settings: { max_connections: '20', max_locks_per_transaction: '10' } })
    pool = new pg.Pool({ connectionString: server.url, max: 4 })
    // The end of a pool does not wait until the server has closed its connections, and the server is ended next.
    pool.on('connect', (client) => client.on('error', () => {}))
    pool.on('error', () => {})
    await tasks.migrate(pgTransactions(pool))
  })
  afterAll(async () => {
    await pool.end()
    await server.stop()
  })
  const findings = (): Promise<readonly Finding[]> =>
    examine({
      tasks,
      transactions: pgTransactions(pool),
      limitMs: 60_000,
      thresholds: { 'round-trip': { unit: 'ms', warn: Infinity } },
    })
  const initialize = (topics: number): Promise<unknown> =>
    Promise.all(
      Array.from({ length: topics }, (_, index) => pgTransactions(pool)((client) => tasks.initialize(client, `topic-${index}`))),
    )

  test('complains of nothing with a few topics', async () => {
    await initialize(3)
    const all = await findings()
    expect(complaintsAmong(all)).toEqual([])
    expect(findingOf(all, 'partition-locks').facts.value).toBeGreaterThan(0)
  })

  test('finds a partition whose detachment was interrupted, and says how to finish it', async () => {
    const { rows } = await pool.query<{ leaf: string }>(
      `select inhrelid::regclass::text as leaf from pg_inherits where inhparent = 'taskstream.task'::regclass limit 1`,
    )
    const [reader, owner] = [await pool.connect(), await pool.connect()]
    await reader.query('begin')
    await reader.query(`select from taskstream.task`)
    const { rows: pids } = await owner.query<{ pid: number }>('select pg_backend_pid() as pid')
    const detaching = owner.query(`alter table taskstream.task detach partition ${rows[0]!.leaf} concurrently`).then(
      () => 'detached',
      () => 'interrupted',
    )
    const pending = async (): Promise<unknown> =>
      (await pool.query('select count(*)::int as count from pg_inherits where inhdetachpending')).rows[0]
    await expect.poll(pending).toEqual({ count: 1 })
    await pool.query(`select pg_cancel_backend(${pids[0]!.pid})`)
    expect(await detaching).toBe('interrupted')
    await reader.query('rollback')
    reader.release()
    owner.release()
    const all = await findings()
    expect(complaintsAmong(all)).toEqual(['partition-detaching warn'])
    await pool.query(findingOf(all, 'partition-detaching').remedy ?? '')
    expect(complaintsAmong(await findings())).toEqual([])
  })

  test('finds that a statement for every topic would need most of the locks of the server', async () => {
    await initialize(40)
    const all = await findings()
    expect(complaintsAmong(all)).toEqual(['partition-locks warn'])
    expect(findingOf(all, 'partition-locks').measured).toMatch(/ for \d+ partitions, of 200$/)
  })
})
