/** Which changes of the files of a connection are missed, and which are in order. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { WatchedFile } from '../../packages/task-sql/src/drivers/shared/watched-file.ts'

let folder = ''
let nowMs = 0
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'watched-'))
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
})
afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true })
})

/** A file that is looked at for the first time. */
function watched(journal: 'wal' | 'delete' = 'wal'): { database: DatabaseSync; path: string; look: () => void } {
  const path = join(folder, 'tasks.db')
  const database = new DatabaseSync(path)
  database.exec(`pragma journal_mode = ${journal}; create table t (x)`)
  const file = new WatchedFile(database)
  const look = (): void => {
    nowMs += 1_000
    file.check()
  }
  look()
  return { database, path, look }
}

describe('the file of a connection', () => {
  test.each(process.platform === 'linux' ? ['', '-shm'] : [''])(
    'is missed if %o is deleted, and is in order once it is back',
    (end) => {
      const { path, look } = watched()
      renameSync(`${path}${end}`, join(folder, 'away'))
      for (let count = 0; count < 2; count++) expect(look).toThrow(`The file ${path}${end} was deleted, moved or replaced`)
      renameSync(join(folder, 'away'), `${path}${end}`)
      expect(look).not.toThrow()
    },
  )

  test('is missed if another one has its name', () => {
    const { path, look } = watched()
    renameSync(path, join(folder, 'away'))
    writeFileSync(path, '')
    expect(look).toThrow(expect.objectContaining({ code: 'DATABASE_UNAVAILABLE' }))
  })

  test('may lose its shared memory with its write-ahead log, and get both again', () => {
    const { database, look } = watched()
    for (const journal of ['delete', 'wal']) {
      database.exec(`pragma journal_mode = ${journal}; insert into t values (1)`)
      for (let count = 0; count < 2; count++) expect(look).not.toThrow()
    }
  })

  test('may get another shared memory between two looks, and may be kept by its connection alone', () => {
    const { database, look } = watched()
    for (const change of [
      'pragma journal_mode = delete; pragma journal_mode = wal',
      'pragma locking_mode = exclusive',
      'vacuum',
    ]) {
      database.exec(`${change}; insert into t values (1)`)
      for (let count = 0; count < 2; count++) expect(look).not.toThrow()
    }
    database.exec('pragma journal_mode = delete; pragma journal_mode = wal; insert into t values (1)')
    expect(look).not.toThrow()
  })

  test('has no shared memory without a write-ahead log', () => {
    const { look } = watched('delete')
    expect(look).not.toThrow()
  })

  test('is looked at once a second', () => {
    const { path, look } = watched()
    const file = new WatchedFile(new DatabaseSync(path))
    file.check()
    renameSync(path, join(folder, 'away'))
    nowMs += 999
    expect(() => file.check()).not.toThrow()
    expect(look).toThrow('deleted')
    expect(() => file.check()).toThrow('deleted')
  })

  test('of a database in memory is none', () => {
    const file = new WatchedFile(new DatabaseSync(':memory:'))
    for (let count = 0; count < 2; count++) {
      nowMs += 1_000
      expect(() => file.check()).not.toThrow()
    }
  })
})
