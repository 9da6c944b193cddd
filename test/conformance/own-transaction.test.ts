/** A transaction of better-sqlite3's own, `database.transaction`, takes pushes as it takes other writes. */
import { raw, sql } from '@taskstream/task-sql'
import { names, useFixture } from '@taskstream/task-testing/suite'
import { beforeAll, describe, expect, test } from 'vitest'
import { canRun, engine, textColumn } from '../subject.ts'
import type { AnyTransaction } from '../subject.ts'

describe.skipIf(!canRun)("better-sqlite3's own db.transaction", () => {
  const fixture = useFixture(engine)
  let database: AnyTransaction
  beforeAll(async () => {
    database = (await fixture.subject.session()).transaction
    await fixture.commit((transaction) => fixture.subject.execute(transaction, sql`create table invoice (id ${textColumn})`))
  })

  test('commits a push and a row together, and neither when it throws', async () => {
    const pushAnd = (fail: boolean): unknown =>
      database.transaction(() => {
        database.prepare('insert into invoice (id) values (?)').run('d')
        const pushed = fixture.tasks.push(database, fixture.topic, 'd')
        if (fail) throw new Error('no')
        return pushed
      })()
    const invoices = (): Promise<readonly unknown[]> =>
      fixture.commit((transaction) => fixture.subject.execute(transaction, raw('select id from invoice')))
    expect(() => pushAnd(true)).toThrow('no')
    expect([await invoices(), await fixture.page()]).toEqual([[], []])
    expect(pushAnd(false)).toMatchObject([{ identifier: 'd', outcome: 'created' }])
    expect(await invoices()).toMatchObject([{ id: 'd' }])
    expect(names(await fixture.page())).toEqual(['d'])
  })
})
