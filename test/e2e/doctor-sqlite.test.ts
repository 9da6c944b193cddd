/** The doctor on files of SQLite, each in one bad state: it finds that state, and nothing else. */
import { closeSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TransactionSource } from '@taskstream/task-api'
import { sqlTaskRepository } from '@taskstream/task-sql'
import { fromNodeSqlite, openNodeSqlite, sqlite, sqliteTransactions } from '@taskstream/task-sql/node-sqlite'
import { examine } from '@taskstream/task-operations'
import type { ExamineOptions, Finding, Thresholds } from '@taskstream/task-operations'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { complaintsAmong, findingOf } from '../conformance/examining.ts'

type Database = Awaited<ReturnType<typeof openNodeSqlite>>
type Given = Partial<ExamineOptions<Database>>

const patient: Thresholds = { 'round-trip': { unit: 'ms', warn: Infinity } }
const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromNodeSqlite })

describe('the doctor on a file', () => {
  let folder = ''
  let file = ''
  let database: Database
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'taskstream-doctor-'))
    file = join(folder, 'tasks.db')
    database = await openNodeSqlite(file)
    await tasks.migrate(sqliteTransactions(database) as TransactionSource<Database>)
  })
  afterEach(() => {
    database.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const findings = ({ thresholds, ...given }: Given = {}): Promise<readonly Finding[]> =>
    examine({
      tasks,
      transactions: sqliteTransactions(database) as TransactionSource<Database>,
      limitMs: 60_000,
      files: roomy,
      ...given,
      thresholds: { ...patient, ...thresholds },
    })
  const complaints = async (given: Given = {}): Promise<string[]> => complaintsAmong(await findings(given))
  const severityOf = async (check: Finding['check']): Promise<string> => findingOf(await findings(), check).severity

  /** Closes the file, and destroys its last page, which is one of the table that was filled last. */
  const damageLastPage = (): void => {
    const { page_size: pageSize } = database.prepare('pragma page_size').get() as { page_size: number }
    database.close()
    const handle = openSync(file, 'r+')
    writeSync(handle, Buffer.alloc(pageSize, 0xff), 0, pageSize, statSync(file).size - pageSize)
    closeSync(handle)
  }

  test('complains of nothing', async () => {
    const all = await findings({ deep: true })
    expect(complaintsAmong(all)).toEqual([])
    expect(all.filter(({ severity }) => severity === 'skipped').map(({ check }) => check)).toEqual(['attempts'])
    expect(findingOf(all, 'busy-timeout').severity).toBe('ok')
  })

  test('finds a connection whose settings lose or refuse what others write', async () => {
    database.exec('pragma busy_timeout = 100')
    expect(await severityOf('busy-timeout')).toBe('warn')
    database.exec('pragma busy_timeout = 5000')
    database.exec('pragma synchronous = off')
    expect(await complaints()).toEqual(['synchronous warn'])
    database.exec('pragma synchronous = full')
    database.exec('pragma journal_mode = delete')
    expect(await complaints()).toEqual(['journal warn'])
    database.exec('pragma journal_mode = wal')
    expect(await complaints()).toEqual([])
  })

  test('finds a log that a reader keeps from being written back', async () => {
    const reader = await openNodeSqlite(file)
    reader.exec('begin')
    reader.prepare('select count(*) from task_topic').all()
    database.exec('create table ballast (bytes blob)')
    for (let count = 0; count < 17; count++) database.exec('insert into ballast values (zeroblob(4194304))')
    expect(statSync(`${file}-wal`).size).toBeGreaterThan(64 * 2 ** 20)
    const all = await findings()
    expect(complaintsAmong(all)).toEqual(['wal-size warn'])
    reader.exec('rollback')
    reader.close()
    const { remedy = '' } = findingOf(all, 'wal-size')
    database.exec(remedy.slice(remedy.indexOf('pragma')))
    expect(await complaints()).toEqual([])
  })

  test('finds a file that is mostly empty', async () => {
    database.exec('create table ballast (bytes blob)')
    for (let count = 0; count < 6; count++) database.exec('insert into ballast values (zeroblob(4194304))')
    expect(await complaints()).toEqual([])
    database.exec('drop table ballast')
    expect(await complaints()).toEqual(['free-pages warn'])
    database.exec('vacuum')
    database.exec('pragma wal_checkpoint(truncate)')
    expect(await complaints()).toEqual([])
  })

  test('finds a large file of which the planner has no statistics', async () => {
    const row = (sequence: number): string =>
      `insert into task (sequence, topic, identifier, state, created) values (${sequence}, 't', 'i', 6, 0)`
    database.exec(row(1))
    database.exec(row(100_000))
    expect(await complaints()).toEqual(['statistics warn'])
    database.exec('analyze')
    expect(await complaints()).toEqual([])
    expect(await severityOf('attempts')).toBe('ok')
  })

  test('finds a damaged file, if it is asked to read the whole of it', async () => {
    database.exec('create table ballast (bytes blob)')
    for (let count = 0; count < 100; count++) database.exec('insert into ballast values (zeroblob(3000))')
    damageLastPage()
    database = await openNodeSqlite(file)
    expect(await complaints()).toEqual([])
    expect(await complaints({ deep: true })).toEqual(['integrity crit'])
  })

  test('finds damage that another check runs into, without being asked to read the whole file', async () => {
    for (let count = 0; count < 100; count++)
      database.exec(`insert into task_activation (topic, active, changed) values ('${'t'.repeat(200)}${count}', 0, 0)`)
    damageLastPage()
    database = await openNodeSqlite(file)
    const all = await findings()
    expect(complaintsAmong(all)).toEqual(['integrity crit'])
    expect(findingOf(all, 'integrity').measured).toContain('malformed')
  })

  test('finds a file on a network, and a file system that is nearly full', async () => {
    expect(await complaints({ files: { ...roomy, system: async () => ({ type: 0x6969, free: 0.5 }) } })).toEqual([
      'network-files crit',
    ])
    expect(await complaints({ files: { ...roomy, system: async () => ({ type: 1, free: 0.05 }) } })).toEqual(['free-space warn'])
    expect(await complaints({ files: { ...roomy, system: async () => ({ type: 1, free: 0.01 }) } })).toEqual(['free-space crit'])
    const asked: string[] = []
    const system = async (path: string): Promise<{ type: number; free: number }> => {
      asked.push(path)
      return { type: 1, free: 1 }
    }
    await findings({ files: { ...roomy, system } })
    expect(new Set(asked)).toEqual(new Set([folder]))
  })

  test('looks at the file system of this machine', async () => {
    const all = await examine({
      tasks,
      transactions: sqliteTransactions(database) as TransactionSource<Database>,
      limitMs: 60_000,
    })
    const { value } = findingOf(all, 'free-space').facts
    expect(value).toBeGreaterThan(0)
    expect(value).toBeLessThanOrEqual(1)
  })
})

/** Tests of other things do not depend on how much room this machine has. */
const roomy = {
  size: async (path: string): Promise<number | undefined> => statSync(path, { throwIfNoEntry: false })?.size,
  system: async (): Promise<{ type: number; free: number }> => ({ type: 0xef53, free: 0.9 }),
}
