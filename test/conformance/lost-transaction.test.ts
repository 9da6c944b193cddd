/**
 * postgres.js gives up a transaction whose connection was lost while its work goes on: the end of that work must not end another's transaction. And it takes a
 * rollback for a commit if a connection has lost its prepared statements: what resolves must be committed.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { TransactionSource } from '@taskstream/task-api'
import { drizzleTransactions } from '@taskstream/task-sql/drizzle'
import { postgresJsTransactions } from '@taskstream/task-sql/postgres-js'
import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/postgres-js'
import postgresJs from 'postgres'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canRun, openSubject } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'

interface Library {
  readonly name: string
  transactions(sql: postgresJs.Sql): TransactionSource<AnyTransaction>
  run(transaction: AnyTransaction, text: string): Promise<readonly AnyTransaction[]>
}

const libraries: readonly Library[] = [
  { name: 'postgres.js', transactions: postgresJsTransactions, run: (sql, text) => sql.unsafe(text) },
  {
    name: 'Drizzle on postgres.js',
    transactions: (sql) => drizzleTransactions(drizzle(sql), drizzleSql),
    run: (tx, text) => tx.execute(text),
  },
]

describe.skipIf(!canRun).each(libraries)('a transaction of $name', ({ transactions, run }) => {
  let subject: Subject
  let other: postgresJs.Sql
  beforeAll(async () => {
    subject = await openSubject()
    other = postgresJs(subject.owner.at, { max: 1 })
    await other`create table invoice (id text)`
  })
  afterAll(async () => {
    await other.end()
    await subject[Symbol.asyncDispose]()
  })

  test('keeps what it has written once it resolves, though its connection forgets prepared statements again and again', async () => {
    await other`truncate invoice`
    const sql = postgresJs(subject.owner.at, { max: 1, onnotice: () => {} })
    const source = transactions(sql)
    const kept: string[] = []
    for (let round = 0; round < 10; round++) {
      const id = `round ${round}`
      await source((transaction) => run(transaction, `insert into invoice values ('${id}')`))
      kept.push(id)
      await sql.unsafe('deallocate all')
    }
    expect((await other`select id from invoice order by id`).map(({ id }) => id)).toEqual(kept)
    await sql.end()
  })

  test('is refused if an error was ignored in it, and leaves nothing', async () => {
    await other`truncate invoice`
    const sql = postgresJs(subject.owner.at, { max: 1, onnotice: () => {} })
    const ignoring = transactions(sql)(async (transaction) => {
      await run(transaction, "insert into invoice values ('a')")
      await run(transaction, 'select 1 / 0').catch(() => {})
    })
    await expect(ignoring).rejects.toThrow()
    expect(await other`select id from invoice`).toHaveLength(0)
    await sql.end()
  })

  for (const end of ['returns', 'throws']) {
    test(`that was lost leaves the next one on its connection alone when its work ${end}`, async () => {
      await other`truncate invoice`
      const sql = postgresJs(subject.owner.at, { max: 1, onnotice: () => {} })
      const source = transactions(sql)
      const goOn = Promise.withResolvers<void>()
      const lost = source(async (transaction) => {
        const [row] = await run(transaction, 'select pg_backend_pid() as pid')
        await other`select pg_terminate_backend(${row.pid}, 10000)`
        await goOn.promise
        if (end === 'throws') throw new Error('no')
      })
      await expect(lost).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
      await source(async (transaction) => {
        await run(transaction, "insert into invoice values ('a')")
        goOn.resolve()
        // The new connection is idle, so statements of the lost transaction could reach it. They would be answered before the next statement.
        for (let turn = 0; turn < 10; turn++) await nextTurn()
        await run(transaction, 'select 1')
        await run(transaction, "insert into invoice values ('b')")
        expect(await other`select id from invoice`).toHaveLength(0)
      })
      expect((await other`select id from invoice order by id`).map(({ id }) => id)).toEqual(['a', 'b'])
      await sql.end()
    })

    test(`that was lost does not end the process when its work ${end} and nobody has connected again`, async () => {
      const sql = postgresJs(subject.owner.at, { max: 1, onnotice: () => {} })
      const goOn = Promise.withResolvers<void>()
      const source = transactions(sql)
      const lost = source(async (transaction) => {
        const [row] = await run(transaction, 'select pg_backend_pid() as pid')
        await other`select pg_terminate_backend(${row.pid}, 10000)`
        await goOn.promise
        if (end === 'throws') throw new Error('no')
      })
      await expect(lost).rejects.toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
      goOn.resolve()
      for (let turn = 0; turn < 10; turn++) await nextTurn()
      expect(await source((transaction) => run(transaction, 'select 1 as one'))).toEqual([{ one: 1 }])
      await sql.end()
    })
  }
})
