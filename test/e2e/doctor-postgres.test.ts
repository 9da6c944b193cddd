/** The doctor on a server of PostgreSQL that is put into one bad state after the other: it finds that state, and nothing else. */
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromPg, pgListener, pgTransactions, postgres } from '@taskstream/task-sql/pg'
import { examine } from '@taskstream/task-operations'
import type { CheckName, Finding, Thresholds } from '@taskstream/task-operations'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { complaintsAmong, findingOf } from '../conformance/examining.ts'
import { startPostgres } from '../databases/postgres-server.ts'
import type { PostgresServer } from '../databases/postgres-server.ts'

/** Any age is too old. */
const atOnce = { unit: 'ms', warn: -1 } as const
const patient: Thresholds = { 'round-trip': { unit: 'ms', warn: Infinity } }

describe('the doctor on PostgreSQL', () => {
  let server: PostgresServer
  let pool: pg.Pool
  const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPg })
  beforeAll(async () => {
    server = await startPostgres({
      durable: true,
      settings: {
        wal_level: 'logical',
        max_prepared_transactions: '5',
        max_connections: '20',
        // Autovacuum is on, and does nothing while a test runs.
        autovacuum_naptime: '1d',
      },
    })
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

  const run = (text: string): Promise<unknown> => pool.query(text)
  const findings = (thresholds: Thresholds = {}): Promise<readonly Finding[]> =>
    examine({
      tasks,
      transactions: pgTransactions(pool),
      limitMs: 60_000,
      thresholds: { ...patient, ...thresholds },
    })
  const complaints = async (thresholds: Thresholds = {}): Promise<string[]> => complaintsAmong(await findings(thresholds))
  /** Statistics of a session are written when it has a moment of rest. */
  const flush = async (): Promise<void> => {
    for (const client of await Promise.all([pool.connect(), pool.connect(), pool.connect()])) {
      await client.query('select pg_stat_force_next_flush()')
      client.release()
    }
  }
  const session = async (name: string): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: server.url, application_name: name })
    client.on('error', () => {})
    await client.connect()
    return client
  }

  test('complains of nothing', async () => {
    const all = await findings()
    expect(complaintsAmong(all)).toEqual([])
    expect(all.filter(({ severity }) => severity === 'skipped')).toEqual([])
    for (const check of ['fsync', 'full-page-writes', 'synchronous-commit'] as const)
      expect(findingOf(all, check)).toMatchObject({ severity: 'ok', measured: 'on' })
  })

  test('finds a release that is older than those it knows', async () => {
    expect(await complaints({ 'postgres-version': { unit: 'version', warn: 99, below: true } })).toEqual([
      'postgres-version warn',
    ])
  })

  test('finds an open transaction that holds dead rows, who it is, and how to end it', async () => {
    const holder = await session('monthly report')
    await holder.query('begin isolation level repeatable read')
    await holder.query('select 1')
    const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid')
    const { pid } = rows[0]!
    const all = await findings({ 'transaction-open': atOnce })
    expect(complaintsAmong(all)).toEqual(['transaction-open warn'])
    expect(findingOf(all, 'transaction-open')).toMatchObject({
      measured: expect.stringContaining(`session ${pid} of postgres monthly report, idle in transaction`),
      remedy: expect.stringContaining(`select pg_terminate_backend(${pid})`),
      facts: { worst: [{ pid, application: 'monthly report' }] },
    })
    // The statement was only printed.
    expect((await holder.query('select 1')).rowCount).toBe(1)
    await holder.query('rollback')
    await holder.query('begin')
    // At READ COMMITTED a transaction that only waits holds nothing.
    await holder.query('select 1')
    expect(await complaints({ 'transaction-open': atOnce })).toEqual([])
    await holder.end()
  })

  test('finds a prepared transaction that nobody ends', async () => {
    const client = await session('coordinator')
    await client.query('begin')
    await client.query(`insert into taskstream.task_topic (topic) values ('prepared')`)
    await client.query(`prepare transaction 'order''s 7'`)
    await client.end()
    const all = await findings({ 'transaction-prepared': atOnce })
    expect(complaintsAmong(all)).toEqual(['transaction-prepared warn'])
    const { remedy = '' } = findingOf(all, 'transaction-prepared')
    expect(remedy).toContain(`rollback prepared 'order''s 7'`)
    // The statement that is printed is one that the server understands.
    await run(remedy.slice(remedy.indexOf('rollback')))
    expect(await complaints({ 'transaction-prepared': atOnce })).toEqual([])
  })

  test('finds a replication slot whose replica is gone', async () => {
    await run(`select pg_create_logical_replication_slot('old_replica', 'pgoutput')`)
    const all = await findings({ 'replication-slot': atOnce })
    expect(complaintsAmong(all)).toEqual(['replication-slot warn'])
    const { measured, remedy = '' } = findingOf(all, 'replication-slot')
    expect(measured).toMatch(/^the logical slot old_replica has been inactive for /)
    await run(remedy.slice(remedy.indexOf('select')))
    expect(await complaints({ 'replication-slot': atOnce })).toEqual([])
  })

  test('finds the invalid index that a failed attempt has left', async () => {
    await run(`insert into taskstream.task_topic (topic, condition) values ('a', 0), ('b', 0)`)
    await expect(run('create unique index concurrently leftover on taskstream.task_topic (condition)')).rejects.toThrow()
    const all = await findings()
    expect(complaintsAmong(all)).toEqual(['index-invalid warn'])
    const { measured, remedy = '' } = findingOf(all, 'index-invalid')
    expect(measured).toBe('taskstream.leftover')
    await run(remedy.slice(0, remedy.indexOf(',')))
    await run(`delete from taskstream.task_topic`)
    expect(await complaints()).toEqual([])
  })

  test('finds that autovacuum is off, for the server or for a table', async () => {
    await run('alter table taskstream.task_owner set (autovacuum_enabled = false)')
    const all = await findings()
    expect(complaintsAmong(all)).toEqual(['autovacuum warn'])
    await run(findingOf(all, 'autovacuum').remedy ?? '')
    expect(await complaints()).toEqual([])
    await run('alter system set autovacuum = off')
    await run('select pg_reload_conf()')
    await expect.poll(() => complaints()).toEqual(['autovacuum warn'])
    await run(findingOf(await findings(), 'autovacuum').remedy ?? '')
    await run('select pg_reload_conf()')
    await expect.poll(() => complaints()).toEqual([])
  })

  test('finds settings with which a crash loses what was committed', async () => {
    const set = async (setting: string, value: string): Promise<void> => {
      await run(`alter system set ${setting} = ${value}`)
      await run('select pg_reload_conf()')
    }
    const severities = async (): Promise<string[]> => {
      const all = await findings()
      return (['fsync', 'full-page-writes', 'synchronous-commit'] satisfies CheckName[]).map(
        (check) => findingOf(all, check).severity,
      )
    }
    for (const setting of ['fsync', 'full_page_writes', 'synchronous_commit']) await set(setting, 'off')
    await expect.poll(severities).toEqual(['crit', 'crit', 'notice'])
    for (const setting of ['fsync', 'full_page_writes', 'synchronous_commit']) await set(setting, 'on')
    await expect.poll(severities).toEqual(['ok', 'ok', 'ok'])
  })

  test('finds a server that takes no writes', async () => {
    await run('alter system set default_transaction_read_only = on')
    await run('select pg_reload_conf()')
    await expect.poll(() => complaints()).toEqual(['read-only warn'])
    await run('alter system reset default_transaction_read_only')
    await run('select pg_reload_conf()')
    await expect.poll(() => complaints()).toEqual([])
  })

  test('finds tables of which nobody has statistics, and tables full of dead rows', async () => {
    await run(
      `insert into taskstream.task_activation (topic, active, changed) select 't' || n, true, now() from generate_series(1, 150000) n`,
    )
    await flush()
    await expect.poll(() => complaints()).toEqual(['never-analysed warn'])
    await run(findingOf(await findings(), 'never-analysed').remedy ?? '')
    await expect.poll(() => complaints()).toEqual([])
    await run('delete from taskstream.task_activation')
    await flush()
    await expect.poll(() => complaints()).toEqual(['dead-rows warn'])
    const { remedy = '' } = findingOf(await findings(), 'dead-rows')
    await run(remedy.slice(remedy.indexOf('vacuum')))
    await expect.poll(() => complaints()).toEqual([])
  })

  test('finds a table whose updates write its indexes', async () => {
    await run(`insert into taskstream.task_periodic (created, changed, due, jitter_ms, priority, status, misfire, overlap, scope, id, topic, identifier, timer)
               select now(), now(), now() + interval '1 day', 0, 0, 0, 0, 0, 's', n::text, 't', 'i', 'x' from generate_series(1, 10) n`)
    await run(`update taskstream.task_periodic set due = due + interval '1 second'`)
    await flush()
    const few = { unit: 'share', notice: 0.8, below: true, from: { size: 10, unit: 'rows' } } as const
    await expect.poll(() => complaints({ 'hot-updates': few })).toEqual(['hot-updates notice'])
    await run('delete from taskstream.task_periodic')
    expect(await complaints()).toEqual([])
  })

  test('finds who waits for a lock on our tables, and who is in the way', async () => {
    await run(`insert into taskstream.task_topic (topic) values ('locked')`)
    const [holder, waiter] = [await session('holder'), await session('waiter')]
    await holder.query('begin')
    await holder.query('select from taskstream.task_topic for update')
    const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid')
    const waiting = waiter.query('update taskstream.task_topic set generation = 1').catch(() => {})
    const given = { 'lock-waits': atOnce }
    await expect.poll(() => complaints(given)).toEqual(['lock-waits warn'])
    const told = findingOf(await findings(given), 'lock-waits')
    expect(told.measured).toMatch(
      new RegExp(`^session \\d+ has waited for .* for session ${rows[0]!.pid} of \\w+ holder, idle in transaction$`),
    )
    expect(told.remedy).toContain(`pg_terminate_backend(${rows[0]!.pid})`)
    // Whoever waits keeps nobody waiting, so it is not named as the one to end.
    const open = findingOf(await findings({ 'transaction-open': atOnce }), 'transaction-open')
    expect(open.facts).toMatchObject({ count: 1 })
    expect(open.remedy).toContain(`pg_terminate_backend(${rows[0]!.pid})`)
    await holder.query('rollback')
    await waiting
    await Promise.all([holder.end(), waiter.end()])
    await run('delete from taskstream.task_topic')
    expect(await complaints(given)).toEqual([])
  })

  test('finds that few connections are left', async () => {
    const clients = await Promise.all(Array.from({ length: 15 }, (_, index) => session(`client ${index}`)))
    await expect.poll(() => complaints()).toEqual([expect.stringMatching(/^connections (warn|crit)$/)])
    await Promise.all(clients.map((client) => client.end()))
    await expect.poll(() => complaints()).toEqual([])
  })

  test('measures how near the end of transaction ids is', async () => {
    const near = { unit: 'transactions', warn: 1 } as const
    expect(await complaints({ wraparound: near })).toEqual(['wraparound warn'])
  })

  test('says that this user does not see other sessions, and what to grant, and looks at the rest', async () => {
    await run(`create role onlooker login`)
    await run('grant usage on schema taskstream to onlooker')
    await run('grant select on all tables in schema taskstream to onlooker')
    const onlookers = new pg.Pool({ connectionString: server.url.replace('postgres@', 'onlooker@'), max: 1 })
    const all = await examine({ tasks, transactions: pgTransactions(onlookers), limitMs: 60_000, thresholds: patient })
    expect(complaintsAmong(all)).toEqual(['rights warn'])
    expect(findingOf(all, 'rights').remedy).toMatch(/^unless this user only looks: grant \w+ on .*taskstream.* to onlooker$/)
    expect(findingOf(all, 'transaction-open')).toMatchObject({
      severity: 'skipped',
      remedy: 'grant pg_read_all_stats to onlooker',
    })
    await run('grant pg_read_all_stats to onlooker')
    const seeing = await examine({ tasks, transactions: pgTransactions(onlookers), limitMs: 60_000, thresholds: patient })
    expect(findingOf(seeing, 'transaction-open').severity).toBe('ok')
    await onlookers.end()
  })

  test('hears whether a notification arrives', async () => {
    const heard = (connectionString: string): Promise<readonly Finding[]> =>
      examine({
        tasks,
        transactions: pgTransactions(pool),
        notifier: pgListener(() => new pg.Client({ connectionString })),
        limitMs: 60_000,
        wakeUpMs: 60_000,
        thresholds: patient,
      })
    expect(findingOf(await heard(server.url), 'wake-up').severity).toBe('ok')
  })

  test('skips a look at tables that are locked, and makes all others', async () => {
    const holder = await session('migration')
    await holder.query('begin')
    await holder.query('lock table taskstream.task_periodic')
    const all = await examine({ tasks, transactions: pgTransactions(pool), limitMs: 300, thresholds: patient })
    expect(findingOf(all, 'timer-overdue')).toMatchObject({ severity: 'skipped', facts: { code: 'DATABASE_BUSY' } })
    expect(findingOf(all, 'schema').severity).toBe('ok')
    await holder.query('rollback')
    await holder.end()
  })
})
