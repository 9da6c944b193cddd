/** Every driver and library for MariaDB and MySQL: work that goes on in a transaction that the server has ended. */
import { isTaskError } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { OpenDriver } from '../drivers/driver.ts'
import { mysqlDrivers } from '../drivers/mysql.ts'
import { canRun, openSubject } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'

describe.skipIf(!canRun).each(mysqlDrivers)("$name: a transaction source's work", (driver) => {
  let subject: Subject
  let open: OpenDriver
  beforeAll(async () => {
    subject = await openSubject()
    open = await driver.open(subject.owner.at)
    await byOther(raw('create table invoice (id varchar(9))'))
    await byOther(raw('create table account (name varchar(9) primary key, amount int)'))
  })
  afterAll(async () => {
    await open.close()
    await subject[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    for (const statement of ['delete from invoice', 'delete from account', "insert into account values ('a', 0), ('b', 0)"])
      await byOther(raw(statement))
  })

  const byOther = (statement: Statement): Promise<unknown> =>
    subject.transactions((transaction) => subject.execute(transaction, statement))
  const run = async (transaction: AnyTransaction, statement: Statement): Promise<unknown> =>
    open.adapter.execute(transaction, statement)
  const add = (name: string): Statement => sql`update account set amount = amount + 1 where name = ${name}`

  test('that ignores a deadlock is not told that it was committed', async () => {
    const rival = await subject.session()
    const outcome = open.transactions(async (transaction) => {
      await open.insertInvoice(transaction, 'before')
      await run(transaction, add('a'))
      await rival.begin()
      // The server ends the transaction that has written less.
      for (let row = 0; row < 20; row++)
        await subject.execute(rival.transaction, sql`insert into account values (${`row ${row}`}, 0)`)
      await subject.execute(rival.transaction, add('b'))
      const rivalDone = subject.execute(rival.transaction, add('a')).then(() => rival.rollback())
      const deadlock = await run(transaction, add('b')).catch((error: unknown) => open.dialect.classify(error))
      expect(deadlock).toMatchObject({ code: 'TRANSACTION_CONFLICT' })
      await rivalDone
      await open.insertInvoice(transaction, 'after')
    })
    expect(await codeOf(outcome)).toBe('TRANSACTION_CLOSED')
    // Only mysql2Transactions sees each statement, and can refuse it.
    expect(await open.invoices()).toEqual(driver.name === 'mysql2' ? [] : ['after'])
    // Its connection is as any other, for whoever is given it next.
    for (const id of ['1', '2', '3', '4', '5']) await open.transactions((transaction) => open.insertInvoice(transaction, id))
    expect((await open.invoices()).slice(0, 5)).toEqual(['1', '2', '3', '4', '5'])
  })

  test('may ignore an error that has undone its statement only', async () => {
    await open.transactions(async (transaction) => {
      await open.insertInvoice(transaction, 'before')
      await expect(run(transaction, sql`insert into account values (${'a'}, 0)`)).rejects.toThrow()
      await open.insertInvoice(transaction, 'then')
    })
    expect(await open.invoices()).toEqual(['before', 'then'])
  })

  test('that makes a definition is told that this has ended its transaction', async () => {
    const defining = open.transactions((transaction) => run(transaction, raw('create table if not exists defined (id int)')))
    // mysql2Transactions looks for deadlocks only.
    expect(await codeOf(defining)).toBe(driver.name === 'mysql2' ? 'none' : 'TRANSACTION_CLOSED')
  })
})

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: unknown) => (isTaskError(error) ? error.code : String(error)),
  )
}
