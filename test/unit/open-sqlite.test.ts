/** What every connection is given that is opened for users, and which releases of Node.js open none. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { openBetterSqlite3, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import type { OpenSqliteOptions } from '@taskstream/task-sql/better-sqlite3'
import { openNodeSqlite } from '@taskstream/task-sql/node-sqlite'
import { taskstream } from 'taskstream/node-sqlite'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'

interface Opened {
  prepare(text: string): { get(): unknown }
  close(): unknown
}
const drivers: readonly [string, (path: string, options?: OpenSqliteOptions) => Promise<Opened>][] = [
  ['openBetterSqlite3', (path, options) => openBetterSqlite3(path, options) as Promise<Opened>],
  ['openNodeSqlite', (path, options) => openNodeSqlite(path, options) as Promise<Opened>],
]

describe.each(drivers)('%s', (_, open) => {
  let folder: string
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'taskstream-open-'))))
  afterEach(() => {
    vi.unstubAllGlobals()
    rmSync(folder, { recursive: true, force: true })
  })

  const ask = async (pragma: string, options?: OpenSqliteOptions): Promise<unknown> => {
    const database = await open(join(folder, 'tasks.db'), options)
    const row = database.prepare(`pragma ${pragma}`).get() as Record<string, unknown>
    database.close()
    return Object.values(row)[0]
  }
  const runOn = (node: string): void => {
    vi.stubGlobal('process', Object.create(process, { versions: { value: { ...process.versions, node } } }))
  }

  test('has a commit survive a power cut, unless it is told otherwise', async () => {
    const [full, normal] = [2, 1]
    expect(await ask('synchronous')).toBe(full)
    expect(await ask('synchronous', { synchronous: 'full' })).toBe(full)
    expect(await ask('synchronous', { synchronous: 'normal' })).toBe(normal)
  })

  test('has readers beside a writer: its journal is a write-ahead log', async () => {
    expect(await ask('journal_mode')).toBe('wal')
  })

  test('waits for a writer as long as it is told, and five seconds by itself', async () => {
    expect(await ask('busy_timeout')).toBe(5_000)
    expect(await ask('busy_timeout', { busyTimeoutMs: 20 })).toBe(20)
  })

  test.each(['20.19.0', '22.13.1'])('is refused on Node.js %s, which the packages do not run on', async (found) => {
    runOn(found)
    await expect(open(join(folder, 'tasks.db'))).rejects.toMatchObject({
      code: 'RUNTIME_UNSUPPORTED',
      data: { found, needed: '22.14' },
      message: expect.stringMatching(/needs Node\.js 22\.14 or later.*upgrade/),
    })
  })

  test.each(['22.14.0', '23.0.0', '24.1.0'])('opens on Node.js %s', async (found) => {
    runOn(found)
    expect(await ask('journal_mode')).toBe('wal')
  })
})

test('a transaction of SQLite whose signal is aborted during its work is rolled back', async () => {
  const database = await openBetterSqlite3(':memory:')
  database.exec('create table invoice (id text)')
  const controller = new AbortController()
  const why = new Error('nobody waits for it')
  const work = (): void => {
    database.exec("insert into invoice values ('a')")
    controller.abort(why)
  }
  await expect(sqliteTransactions(database)(work, { signal: controller.signal })).rejects.toBe(why)
  expect(database.prepare('select * from invoice').all()).toEqual([])
  database.close()
})

test('a file that is no database is named, too, where a connection of the user is configured', () => {
  const folder = mkdtempSync(join(tmpdir(), 'taskstream-open-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'shop.db')
  writeFileSync(path, 'this is no database, and long enough to be looked at as one')
  expect(() => taskstream(new DatabaseSync(path))).toThrow(expect.objectContaining({ code: 'DATABASE_MISSING' }))
})
