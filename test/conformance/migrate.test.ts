import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TransactionSource } from '@taskstream/task-api'
import { raw, sql, sqlTaskRepository } from '@taskstream/task-sql'
import { fromBetterSqlite3, openBetterSqlite3, sqlite, sqliteTransactions } from '@taskstream/task-sql/better-sqlite3'
import { fromPg, pgTransactions, postgres } from '@taskstream/task-sql/postgres'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { canRun, openSubject } from '../subject.ts'
import { testOn } from '../test-on.ts'
import { codeOf } from './fixture.ts'

describe.skipIf(!canRun)('migrate', () => {
  test('does nothing the second time', async () => {
    await using subject = await openSubject()
    expect(await subject.tasks().migrate(subject.transactions)).toEqual({ from: 1, to: 1 })
  })

  test('refuses tables of a later release, and so do register and initialize, with nothing written', async () => {
    await using subject = await openSubject()
    const tasks = subject.tasks()
    const table = raw(subject.engine === 'postgres' ? 'taskstream.task_migration' : 'task_migration')
    await subject.transactions((transaction) =>
      subject.execute(transaction, sql`insert into ${table} (version, name, applied) values (99, 'from the future', 'today')`),
    )
    expect(await codeOf(() => tasks.migrate(subject.transactions))).toBe('SCHEMA_NEWER')
    expect(await codeOf(() => subject.transactions((transaction) => tasks.register(transaction)))).toBe('SCHEMA_NEWER')
    expect(await codeOf(() => subject.transactions((transaction) => tasks.initialize(transaction, 'a')))).toBe('SCHEMA_NEWER')
    await expect(tasks.migrate(subject.transactions)).rejects.toThrow(/version 99.*upgrade/)
    expect(await subject.transactions((transaction) => tasks.topics(transaction))).toEqual([])
    await subject.transactions((transaction) => subject.execute(transaction, sql`delete from ${table}`))
    expect(await codeOf(() => subject.transactions((transaction) => tasks.register(transaction)))).toBe('SCHEMA_OLDER')
  })

  testOn(['postgres-18', 'pgbouncer'])(
    "of ten processes at once applies each step once, in a schema of the user's choice",
    async () => {
      await using subject = await openSubject()
      const { at } = subject.location
      const pools = Array.from({ length: 10 }, () => new pg.Pool({ connectionString: at, max: 1 }))
      try {
        const tasks = sqlTaskRepository({ dialect: postgres({ schema: 'another_one' }), adapter: fromPg })
        expect(await codeOf(() => pgTransactions(pools[0]!)((transaction) => tasks.topics(transaction)))).toBe('SCHEMA_MISSING')
        const migrations = await Promise.all(pools.map((pool) => tasks.migrate(pgTransactions(pool))))
        expect(migrations.filter(({ from }) => from === 0)).toHaveLength(1)
        expect(migrations.every(({ to }) => to === 1)).toBe(true)
      } finally {
        await Promise.all(pools.map((pool) => pool.end()))
      }
    },
  )

  testOn(['sqlite-file'])('of ten connections to one file at once applies each step once', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'taskstream-test-'))
    const file = join(folder, 'tasks.db')
    try {
      const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })
      const databases = await Promise.all(Array.from({ length: 10 }, () => openBetterSqlite3(file)))
      expect(await codeOf(() => tasks.topics(databases[0]!))).toBe('SCHEMA_MISSING')
      const sources: TransactionSource<(typeof databases)[number]>[] = databases.map((database) => sqliteTransactions(database))
      const migrations = await Promise.all(sources.map((source) => tasks.migrate(source)))
      expect(migrations.filter(({ from }) => from === 0)).toHaveLength(1)
      for (const database of databases) database.close()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  testOn(['postgres-18', 'pgbouncer'])('refuses a schema whose name could be taken for SQL', () => {
    for (const schema of ['', 'a;b', 'a"b', "a'b", 'a b', '1a', 'x'.repeat(41)]) {
      expect(() => postgres({ schema })).toThrow(expect.objectContaining({ code: 'ARGUMENT_INVALID' }))
    }
  })
})
