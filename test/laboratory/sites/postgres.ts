/** PostgreSQL: sessions end, statements are cancelled, somebody locks rows and tables, and the server goes away. */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { startPostgres } from '../../databases/postgres-server.ts'
import type { PostgresServer } from '../../databases/postgres-server.ts'
import { openPostgres } from '../../engines/postgres.ts'
import type { Crew } from '../crew.ts'
import { insist } from '../fault.ts'
import type { Fault } from '../fault.ts'
import { putBackFaults } from '../faults/put-back.ts'
import { openProxy } from '../proxy.ts'
import type { Site } from '../site.ts'

/** What survives the end of the server's processes; a power cut is not tried. */
const settings = { fsync: 'off', track_commit_timestamp: 'on', max_connections: '150', wal_level: 'replica' }

export async function openPostgresSite(): Promise<Site> {
  const stack = new AsyncDisposableStack()
  let server = await startPostgres({ durable: true, settings })
  stack.defer(() => server.stop())
  // A standby that is promoted has another address, so the laboratory goes through a proxy too.
  const door = stack.use(await openProxy(server.url))
  const subject = stack.use(await openPostgres(door.url))
  let crew: Crew | undefined
  let standbys = 0

  /** Somebody else's connection. Time-outs that are set for all, it does not have. */
  function foreigner(): pg.Client {
    const options = '-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0'
    const client = new pg.Client({ connectionString: server.url, application_name: 'foreign', options })
    client.on('error', () => {})
    return client
  }

  async function ask(text: string): Promise<readonly Record<string, unknown>[]> {
    const client = foreigner()
    await client.connect()
    try {
      // Several statements have several results.
      const results: pg.QueryResult | pg.QueryResult[] = await client.query(text)
      return [results].flat().at(-1)!.rows as Record<string, unknown>[]
    } finally {
      await client.end().catch(() => {})
    }
  }

  /** Calls a function of the server for some connections of the processes. @returns for how many */
  async function forSome(call: string, where: string): Promise<number> {
    const rows = await ask(
      `select ${call}(pid) as met from pg_stat_activity where application_name like 'laboratory %' and ${where}`,
    )
    return rows.filter(({ met }) => met === true).length
  }

  /** A transaction of somebody else, which does something and stays open for a while. */
  async function foreign(text: string, waits: () => Promise<void>): Promise<number> {
    const client = foreigner()
    await client.connect()
    try {
      await client.query('begin')
      const { rowCount } = await client.query(text)
      await waits()
      await client.query('rollback')
      return rowCount ?? 1
    } finally {
      await client.end().catch(() => {})
    }
  }

  async function restart(signal: 'SIGQUIT' | 'SIGINT' | 'SIGKILL'): Promise<number> {
    await server.crash(signal)
    return 1
  }

  /** A standby that every commit waits for follows for a while; then the server is killed, and the standby is promoted. */
  async function promote(waits: () => Promise<void>): Promise<number> {
    const name = `follower_${++standbys}`
    const standby: PostgresServer = await server.standby(name)
    for (let isSync = false; !isSync; await delay(50)) {
      const [row] = await ask(
        `select count(*) as count from pg_stat_replication where application_name = '${name}' and sync_state = 'sync'`,
      )
      isSync = Number(row?.['count']) === 1
    }
    await waits()
    await server.kill()
    const former = server
    server = standby
    await insist(() => ask('select pg_promote(true)'))
    door.target = server.url
    if (crew) crew.target = server.url
    await former.stop()
    return 1
  }

  const faults: readonly Fault[] = [
    { kind: 'backends terminated', weight: 3, inflict: () => forSome('pg_terminate_backend', 'random() < 0.15') },
    {
      kind: 'listeners terminated',
      inflict: () => forSome('pg_terminate_backend', "application_name like 'laboratory listener %'"),
    },
    { kind: 'statements cancelled', weight: 3, inflict: () => forSome('pg_cancel_backend', "state <> 'idle'") },
    {
      kind: 'rows locked by others',
      inflict: ({ pause }) =>
        foreign('select 1 from taskstream.task where state in (0, 1) order by random() limit 40 for update', () =>
          pause(100, 2_500),
        ),
    },
    {
      kind: 'table locked by others',
      inflict: ({ pause }) => foreign('lock table taskstream.task in share row exclusive mode', () => pause(50, 800)),
    },
    { kind: 'table rewritten', weight: 0.5, inflict: async () => (await ask('vacuum full taskstream.task'), 1) },
    {
      kind: 'snapshot held',
      inflict: ({ pause }) =>
        foreign('create temporary table held as select count(*) from taskstream.task', () => pause(1_000, 3_000)),
    },
    {
      kind: 'time-outs too short',
      isWide: true,
      weight: 0.5,
      inflict: async ({ pause }) => {
        await ask(
          "alter role postgres set statement_timeout = '60ms'; alter role postgres set lock_timeout = '30ms'; alter role postgres set idle_in_transaction_session_timeout = '100ms'",
        )
        try {
          const met = await forSome('pg_terminate_backend', 'true')
          await pause(500, 2_000)
          return met
        } finally {
          await insist(() => ask('alter role postgres reset all'))
          await insist(() => forSome('pg_terminate_backend', 'true'))
        }
      },
    },
    {
      kind: 'server without connections',
      isWide: true,
      weight: 0.5,
      inflict: async ({ pause }) => {
        const taken: pg.Client[] = []
        for (let isFull = false; !isFull;) {
          const client = foreigner()
          isFull = await client.connect().then(
            () => (taken.push(client), false),
            () => true,
          )
        }
        const terminated = await taken[0]!.query(
          "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name like 'laboratory %' and random() < 0.4",
        )
        await pause(300, 1_500)
        await Promise.all(taken.map((client) => client.end().catch(() => {})))
        return taken.length + Number(terminated.rows[0]?.count)
      },
    },
    { kind: 'server crashes', isWide: true, weight: 0.5, inflict: () => restart('SIGQUIT') },
    { kind: 'server killed', isWide: true, weight: 0.5, inflict: () => restart('SIGKILL') },
    { kind: 'server restarted', isWide: true, weight: 0.5, inflict: () => restart('SIGINT') },
    { kind: 'standby promoted', isWide: true, weight: 0.34, inflict: ({ pause }) => promote(() => pause(500, 2_000)) },
    ...putBackFaults(ask, subject),
  ]
  return {
    subject,
    location: { ...subject.location, at: server.url },
    faults,
    meet: (met) => void (crew = met),
    connections: async () =>
      Number(
        (await ask("select count(*) as count from pg_stat_activity where application_name like 'laboratory %'"))[0]?.['count'],
      ),
    describe: async () => ({
      connections: await ask('select * from pg_stat_activity'),
      locks: await ask('select * from pg_locks where not granted'),
      prepared: await ask('select * from pg_prepared_xacts'),
    }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
