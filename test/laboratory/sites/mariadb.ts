/** MariaDB: connections and statements are killed, somebody locks rows and tables, and the server goes away. */
import { createConnection } from 'mysql2/promise'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { startMariaDb } from '../../databases/mariadb-server.ts'
import { openServerClock } from '../../databases/server-clock.ts'
import { clockFaults } from '../faults/clock.ts'
import { insist } from '../fault.ts'
import type { Fault } from '../fault.ts'
import type { Site } from '../site.ts'

/** What survives the end of the server's process; a power cut is not tried. */
const settings = { 'innodb-flush-log-at-trx-commit': '2', 'max-connections': '200', 'extra-port': '0' }

export async function openMariaDbSite(): Promise<Site> {
  const stack = new AsyncDisposableStack()
  const clock = openServerClock()
  if (clock) stack.use(clock)
  const server = stack.use(await startMariaDb({ durable: true, settings, ...(clock && { env: clock.env }) }))
  process.env['TASKSTREAM_SUBJECT'] = 'mariadb'
  const { openMysql } = await import('../../engines/mysql.ts')
  const database = 'laboratory'
  const once = await createConnection({ uri: server.url })
  await once.query(`create database ${database}`)
  await once.end()
  const at = `${server.url}${database}`
  const subject = stack.use(await openMysql('mariadb', at))

  /** Somebody else's connection. It uses no database, so that nobody takes it for one of the processes'. */
  async function withConnection<Result>(use: (connection: Connection) => Promise<Result>): Promise<Result> {
    const connection = await createConnection({ uri: `${server.url}?connectTimeout=2000` })
    connection.on('error', () => {})
    try {
      return await use(connection)
    } finally {
      await connection.end().catch(() => {})
    }
  }
  const ask = (text: string): Promise<RowDataPacket[]> =>
    withConnection(async (connection) => (await connection.query<RowDataPacket[]>(text))[0])

  /** Kills some connections of the processes, or their statements. The laboratory's own are among them, and go on too. */
  async function killSome(what: 'connection' | 'query', where: string): Promise<number> {
    return withConnection(async (connection) => {
      const [rows] = await connection.query<RowDataPacket[]>(
        `select id from information_schema.processlist where db = '${database}' and id <> connection_id() and ${where}`,
      )
      const outcomes = await Promise.allSettled(rows.map(({ id }) => connection.query(`kill ${what} ${Number(id)}`)))
      return outcomes.filter(({ status }) => status === 'fulfilled').length
    })
  }

  /** A session of somebody else, which does something and stays open for a while. */
  async function foreign(texts: readonly string[], waits: () => Promise<void>, last: string): Promise<number> {
    return withConnection(async (connection) => {
      for (const text of texts) await connection.query(text)
      await waits()
      await connection.query(last)
      return 1
    })
  }

  const faults: readonly Fault[] = [
    { kind: 'connections killed', weight: 3, inflict: () => killSome('connection', 'rand() < 0.15') },
    { kind: 'statements killed', weight: 3, inflict: () => killSome('query', "command <> 'Sleep'") },
    {
      kind: 'rows locked by others',
      inflict: ({ pause }) =>
        foreign(
          [
            'set transaction isolation level read committed',
            'begin',
            'select 1 from laboratory.task where state in (0, 1) limit 40 for update',
          ],
          () => pause(100, 2_500),
          'rollback',
        ),
    },
    {
      kind: 'table locked by others',
      inflict: ({ pause }) =>
        foreign(
          ['set lock_wait_timeout = 3', 'lock tables laboratory.task write, laboratory.lab_change write'],
          () => pause(50, 800),
          'unlock tables',
        ),
    },
    {
      kind: 'snapshot held',
      inflict: ({ pause }) =>
        foreign(
          ['start transaction with consistent snapshot', 'select count(*) from laboratory.task'],
          () => pause(1_000, 3_000),
          'rollback',
        ),
    },
    {
      kind: 'time-outs too short',
      isWide: true,
      weight: 0.5,
      inflict: async ({ pause }) => {
        try {
          await ask('set global innodb_lock_wait_timeout = 1')
          await ask('set global max_statement_time = 0.06')
          const met = await killSome('connection', 'true')
          await pause(500, 2_000)
          return met
        } finally {
          await insist(() => ask('set global innodb_lock_wait_timeout = 50'))
          await insist(() => ask('set global max_statement_time = 0'))
          await insist(() => killSome('connection', 'true'))
        }
      },
    },
    {
      kind: 'server without connections',
      isWide: true,
      weight: 0.5,
      inflict: ({ pause }) =>
        withConnection(async (connection) => {
          // No fewer than ten are allowed. Those that are open stay open, so some are ended.
          await connection.query('set global max_connections = 10')
          const met = await killSome('connection', 'rand() < 0.4').catch(() => 1)
          await pause(300, 1_500)
          await connection.query('set global max_connections = 200')
          return met
        }),
    },
    { kind: 'server killed', isWide: true, inflict: async () => (await server.crash(), 1) },
    ...clockFaults(clock),
  ]
  return {
    subject,
    location: subject.location,
    faults,
    ...(clock && { realOf: clock.realOf }),
    meet: () => {},
    connections: async () => 0,
    describe: async () => ({
      transactions: await ask('select * from information_schema.innodb_trx'),
      connections: await ask('show full processlist'),
      status: await ask('show engine innodb status'),
    }),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
