/** The doctor on a server of MariaDB that is put into one bad state after the other: it finds that state, and nothing else. */
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromMysql2, mariadb, mysql2Transactions } from '@taskstream/task-sql/mysql2'
import { examine } from '@taskstream/task-operations'
import type { Finding, Thresholds } from '@taskstream/task-operations'
import { createConnection, createPool } from 'mysql2/promise'
import type { Connection, Pool, RowDataPacket } from 'mysql2/promise'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { complaintsAmong, findingOf } from '../conformance/examining.ts'
import { startMariaDb } from '../databases/mariadb-server.ts'
import type { MariaDbServer } from '../databases/mariadb-server.ts'

/** Any age is too old. */
const atOnce = { unit: 'ms', warn: -1 } as const
/** The server answers from a cache if it was asked about transactions a tenth of a second ago. */
const seldom = { interval: 500 }
const patient: Thresholds = { 'round-trip': { unit: 'ms', warn: Infinity } }

describe('the doctor on MariaDB', () => {
  let server: MariaDbServer
  let pool: Pool
  let url = ''
  const tasks = sqlTaskRepository({ dialect: mariadb(), adapter: fromMysql2 })
  beforeAll(async () => {
    server = await startMariaDb({ durable: true, settings: { 'max-connections': '20' } })
    const root = await createConnection({ uri: server.url })
    await root.query('create database shop')
    await root.end()
    url = `${server.url}shop`
    pool = createPool({ uri: url, connectionLimit: 4 })
    await tasks.migrate(mysql2Transactions(pool))
  })
  afterAll(async () => {
    await pool.end()
    await server.stop()
  })

  const run = (text: string): Promise<unknown> => pool.query(text)
  const findings = (thresholds: Thresholds = {}, by: Pool = pool): Promise<readonly Finding[]> =>
    examine({ tasks, transactions: mysql2Transactions(by), limitMs: 60_000, thresholds: { ...patient, ...thresholds } })
  const complaints = async (thresholds: Thresholds = {}): Promise<string[]> => complaintsAmong(await findings(thresholds))
  const session = (): Promise<Connection> => createConnection({ uri: url })
  const idOf = async (connection: Connection): Promise<number> => {
    const [rows] = await connection.query<RowDataPacket[]>('select connection_id() as id')
    return Number(rows[0]?.['id'])
  }

  test('complains of nothing', async () => {
    const all = await findings()
    expect(complaintsAmong(all)).toEqual([])
    expect(all.filter(({ severity }) => severity === 'skipped')).toEqual([])
    expect(findingOf(all, 'flush-log')).toMatchObject({ severity: 'ok', measured: '1' })
    expect(findingOf(all, 'mariadb-version').measured).toMatch(/^10\.|^1[1-9]\./)
  })

  test('finds a release that is older than those it knows', async () => {
    expect(await complaints({ 'mariadb-version': { unit: 'version', warn: 99, below: true } })).toEqual(['mariadb-version warn'])
  })

  test('finds an old transaction, the history that it holds, and how to end it', async () => {
    const holder = await session()
    await holder.query('start transaction with consistent snapshot')
    const id = await idOf(holder)
    await run(`insert into task_topic (topic) values ('a')`)
    for (let count = 0; count < 20; count++) await run(`update task_topic set listing = 1 - listing`)
    const given = { 'transaction-open': atOnce }
    await expect.poll(() => complaints(given), seldom).toEqual(['transaction-open warn'])
    const old = await findings(given)
    expect(findingOf(old, 'transaction-open')).toMatchObject({
      measured: expect.stringContaining(`session ${id} of root`),
      remedy: expect.stringMatching(new RegExp(`kill ${id}$`)),
    })
    const few = { unit: 'transactions', warn: 15 } as const
    await expect.poll(() => complaints({ 'history-list': few })).toEqual(['history-list warn'])
    await holder.query('rollback')
    await holder.end()
    await expect.poll(() => complaints(given), seldom).toEqual([])
    await run('delete from task_topic')
  })

  test('finds a table of another engine, and says how to change it', async () => {
    await run('alter table task_activation engine = Aria')
    const all = await findings()
    expect(complaintsAmong(all)).toEqual(['storage-engine crit'])
    expect(findingOf(all, 'storage-engine').measured).toBe('task_activation is of Aria')
    await run(findingOf(all, 'storage-engine').remedy ?? '')
    expect(await complaints()).toEqual([])
  })

  test('finds a column of another collation, under which two identifiers would be one', async () => {
    await run('alter table task_turn convert to character set utf8mb4 collate utf8mb4_general_ci')
    const all = await findings()
    expect(complaintsAmong(all)).toEqual(['collation warn'])
    expect(findingOf(all, 'collation').measured).toBe('task_turn.topic has utf8mb4_general_ci (and 1 more)')
    await run(findingOf(all, 'collation').remedy ?? '')
    expect(await complaints()).toEqual([])
  })

  test('finds that commits do not wait for the disk, and that the server takes no writes', async () => {
    await run('set global innodb_flush_log_at_trx_commit = 2')
    expect(findingOf(await findings(), 'flush-log')).toMatchObject({
      severity: 'notice',
      measured: expect.stringMatching(/ is 2$/),
    })
    await run(findingOf(await findings(), 'flush-log').remedy ?? '')
    await run('set global read_only = 1')
    expect(await complaints()).toEqual(['read-only warn'])
    await run('set global read_only = 0')
    expect(await complaints()).toEqual([])
  })

  test('finds who waits for a lock on our tables', async () => {
    await run(`insert into task_topic (topic) values ('locked')`)
    const [holder, waiter] = [await session(), await session()]
    await holder.query('start transaction')
    await holder.query('select topic from task_topic for update')
    await waiter.query('start transaction')
    const [id, inTheWay] = [await idOf(waiter), await idOf(holder)]
    const waiting = waiter.query('update task_topic set listing = 1').catch(() => {})
    const given = { 'lock-waits': atOnce }
    await expect.poll(() => complaints(given), seldom).toEqual(['lock-waits warn'])
    const told = findingOf(await findings(given), 'lock-waits')
    expect(told.measured).toMatch(new RegExp(`^session ${id} has waited for .* for session ${inTheWay} of \\w+, Sleep$`))
    expect(told.remedy).toContain(`kill ${inTheWay}`)
    // Whoever waits keeps nobody waiting, so it is not named as the one to end.
    const open = findingOf(await findings({ 'transaction-open': atOnce }), 'transaction-open')
    expect(open.measured).toContain(`session ${inTheWay} `)
    expect(JSON.stringify(open.facts)).not.toContain(`"pid":"${id}"`)
    await holder.query('rollback')
    await waiting
    await Promise.all([holder.end(), waiter.end()])
    await run('delete from task_topic')
    await expect.poll(() => complaints(given), seldom).toEqual([])
  })

  test('finds that few connections are left', async () => {
    const sessions = await Promise.all(Array.from({ length: 17 }, session))
    await expect.poll(() => complaints()).toEqual([expect.stringMatching(/^connections (warn|crit)$/)])
    await Promise.all(sessions.map((each) => each.end()))
    await expect.poll(() => complaints()).toEqual([])
  })

  test('says that this user does not see other transactions, and what to grant, and looks at the rest', async () => {
    await run(`create user onlooker@'127.0.0.1'`)
    await run(`grant select on shop.* to onlooker@'127.0.0.1'`)
    const onlookers = createPool({ uri: url.replace('root@', 'onlooker@'), connectionLimit: 1 })
    const all = await findings({}, onlookers)
    expect(complaintsAmong(all)).toEqual(['rights warn'])
    expect(findingOf(all, 'rights').remedy).toMatch(
      /: grant (INSERT|UPDATE|DELETE) on shop\.task\w* to 'onlooker'@'127\.0\.0\.1'(; grant .*){9}$/,
    )
    for (const check of ['transaction-open', 'lock-waits'] as const)
      expect(findingOf(all, check)).toMatchObject({
        severity: 'skipped',
        remedy: `grant process on *.* to 'onlooker'@'127.0.0.1'`,
      })
    await onlookers.end()
  })
})
