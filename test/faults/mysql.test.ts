/** MariaDB and MySQL: transactions that are in each other's way, connections that the server ends, and a server that is killed. */
import { TaskDecision } from '@taskstream/task-api'
import type { Completion, HeldTask, TransactionSource } from '@taskstream/task-api'
import { raw, sql, sqlTaskRepository } from '@taskstream/task-sql'
import { fromMysql2, mariadb, mysql2Transactions } from '@taskstream/task-sql/mysql2'
import { createPool } from 'mysql2/promise'
import type { Pool } from 'mysql2/promise'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { codeOf, names, openFixture } from '@taskstream/task-testing/suite'
import type { Fixture } from '@taskstream/task-testing/suite'
import { startMariaDb } from '../databases/mariadb-server.ts'
import { canRun, subjectName, engine } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'

describe.skipIf(!canRun)('a transaction of our own on MariaDB', () => {
  let fixture: Fixture<Subject>
  let pool: Pool
  let transactions: TransactionSource<AnyTransaction>
  beforeAll(async () => {
    fixture = await openFixture(engine)
    pool = createPool({ uri: fixture.subject.location.at, connectionLimit: 4 })
    transactions = mysql2Transactions(pool)
    await fixture.commit((transaction) =>
      fixture.subject.execute(transaction, raw('create table account (name varchar(9) primary key, amount int)')),
    )
  })
  afterAll(async () => {
    await pool.end()
    await fixture[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    await fixture.nextTopic()
    await fixture.commit(async (transaction) => {
      await fixture.subject.execute(transaction, raw('delete from account'))
      await fixture.subject.execute(transaction, raw("insert into account values ('a', 0), ('b', 0)"))
    })
  })

  const add = (transaction: AnyTransaction, name: string): Promise<unknown> =>
    fixture.subject.execute(transaction, sql`update account set amount = amount + 1 where name = ${name}`)
  const idOf = async (transaction: AnyTransaction): Promise<number> =>
    Number((await fixture.subject.execute(transaction, raw('select connection_id() as id')))[0]?.['id'])
  const isThere = async (id: number): Promise<boolean> => {
    const [row] = await fixture.commit((transaction) =>
      fixture.subject.execute(transaction, sql`select count(*) as found from information_schema.processlist where id = ${id}`),
    )
    return Number(row?.['found']) > 0
  }
  /** Returns when the server has let go of the connection and of all that it had locked. */
  const cut = async (id: number): Promise<void> => {
    await fixture.commit((transaction) => fixture.subject.execute(transaction, raw(`kill ${id}`)))
    await expect.poll(() => isThere(id), { interval: 1 }).toBe(false)
  }

  test.each([3, 0])('that loses a deadlock is run again, unless it must not be: %i retries', async (retries) => {
    const rival = await fixture.subject.session()
    let runs = 0
    let rivalDone: Promise<unknown> = Promise.resolve()
    const outcome = await codeOf(() =>
      mysql2Transactions(pool, { retries })(async (transaction: AnyTransaction) => {
        await fixture.tasks.push(transaction, fixture.topic, `run ${++runs}`)
        if (runs > 1) {
          await rivalDone
          return 'committed'
        }
        await add(transaction, 'a')
        await rival.begin()
        // The server ends the transaction that has written less.
        await fixture.tasks.push(
          rival.transaction,
          fixture.topic,
          Array.from({ length: 50 }, (_, index) => `rival ${index}`),
        )
        await add(rival.transaction, 'b')
        rivalDone = add(rival.transaction, 'a').then(() => rival.rollback())
        await add(transaction, 'b')
        return 'never'
      }),
    )
    await rivalDone
    // An error of a statement of the user's own stays the driver's.
    expect([runs, outcome]).toEqual(retries > 0 ? [2, 'committed'] : [1, 'ER_LOCK_DEADLOCK'])
    expect(names(await fixture.page())).toEqual(retries > 0 ? ['run 2'] : [])
  })

  test('that ignores a deadlock writes nothing, and says so', async () => {
    const rival = await fixture.subject.session()
    let rivalDone: Promise<unknown> = Promise.resolve()
    const codes: unknown[] = []
    let connection: AnyTransaction
    const outcome = await codeOf(() =>
      mysql2Transactions(pool)(async (transaction: AnyTransaction) => {
        connection = transaction
        await fixture.tasks.push(transaction, fixture.topic, 'before the deadlock')
        await add(transaction, 'a')
        await rival.begin()
        await fixture.tasks.push(
          rival.transaction,
          fixture.topic,
          Array.from({ length: 50 }, (_, index) => `rival ${index}`),
        )
        await add(rival.transaction, 'b')
        rivalDone = add(rival.transaction, 'a').then(() => rival.rollback())
        codes.push(await codeOf(() => add(transaction, 'b')))
        codes.push(await codeOf(() => fixture.tasks.push(transaction, fixture.topic, 'after the deadlock')))
        codes.push(await codeOf(() => add(transaction, 'b')))
      }),
    )
    await rivalDone
    expect(codes).toEqual(['ER_LOCK_DEADLOCK', 'TRANSACTION_CLOSED', 'TRANSACTION_CLOSED'])
    expect(outcome).toBe('TRANSACTION_CLOSED')
    expect(names(await fixture.page())).toEqual([])
    // The connection is as it was, for whoever is given it next.
    expect(Object.keys(connection as object)).not.toContain('query')
    await transactions((transaction) => fixture.tasks.push(transaction, fixture.topic, 'next'))
    expect(names(await fixture.page())).toEqual(['next'])
  })

  test('whose connection is ended between two statements, or before its commit, is run again', async () => {
    for (const moment of ['between', 'before the commit']) {
      let runs = 0
      await transactions(async (transaction) => {
        await fixture.tasks.push(transaction, fixture.topic, `${moment} ${++runs}`)
        if (runs === 1) await cut(await idOf(transaction))
        if (moment === 'between') await fixture.tasks.push(transaction, fixture.topic, `${moment} again`)
      })
      expect(runs).toBe(2)
    }
    expect(names(await fixture.page())).toEqual(['between 2', 'between again', 'before the commit 2'])
  })

  test('whose connection says nothing any more is run again on another, and that one is not used again', async () => {
    const ids: number[] = []
    await transactions(async (transaction) => {
      ids.push(await idOf(transaction))
      await fixture.tasks.push(transaction, fixture.topic, `run ${ids.length}`)
      // The driver's own limit: the server goes on, and answers nobody meanwhile, not even a rollback.
      if (ids.length === 1) await transaction.query({ sql: 'select sleep(100)', timeout: 50 })
    })
    expect(names(await fixture.page())).toEqual(['run 2'])
    expect(new Set(ids).size).toBe(2)
    await expect.poll(() => isThere(ids[0]!)).toBe(false)
  })

  test('says so when the server cannot be reached', async () => {
    const url = new URL(fixture.subject.location.at)
    url.port = '1'
    const nowhere = createPool({ uri: url.href })
    expect(await codeOf(() => mysql2Transactions(nowhere)(() => 'never'))).toBe('DATABASE_UNAVAILABLE')
    await nowhere.end()
  })
})

describe.skipIf(!canRun || subjectName !== 'mariadb' || process.env['TASKSTREAM_MARIADB_URL'])('a MariaDB that is killed', () => {
  test('has what was committed when it is back, and nothing else; and work goes on', async () => {
    await using server = await startMariaDb({ durable: true })
    const pool = createPool({ uri: `${server.url}mysql` })
    const transactions: TransactionSource<AnyTransaction> = mysql2Transactions(pool)
    const tasks = sqlTaskRepository({ dialect: mariadb(), adapter: fromMysql2 })
    await tasks.migrate(transactions as never)
    await transactions(async (transaction) => {
      await tasks.register(transaction)
      await tasks.initialize(transaction, 'work')
    })
    const identifiers = Array.from({ length: 100 }, (_, index) => `${index}`)
    await transactions((transaction) => tasks.push(transaction, 'work', identifiers))
    const held = await transactions<HeldTask[]>((transaction) => tasks.poll(transaction, 'work', { size: 10 }))
    const cut = mysql2Transactions(pool, { retries: 0 })(async (transaction: AnyTransaction) => {
      await tasks.push(transaction, 'work', 'never')
      await tasks.complete(transaction, 'work', new Map(held.map((task) => [task, TaskDecision.failure()])))
      await server.crash()
    })
    expect(await codeOf(() => cut)).toBe('DATABASE_UNAVAILABLE')
    const completion = await transactions<Completion>((transaction) =>
      tasks.complete(transaction, 'work', new Map(held.map((task) => [task, TaskDecision.success()]))),
    )
    expect(completion.lost).toEqual([])
    const left = await transactions<HeldTask[]>((transaction) => tasks.poll(transaction, 'work', { size: 1_000 }))
    expect(names(left)).toEqual(identifiers.slice(10))
    await pool.end()
  })
})
