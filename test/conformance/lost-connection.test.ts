/** With every driver and library, a transaction whose connection is lost ends with the error of its work, and its pool goes on. */
import { isTaskError } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OpenDriver } from '../drivers/driver.ts'
import { loseConnection, loseConnectionWhileBusy } from '../drivers/lose-connection.ts'
import { drivers } from '../drivers/of-engine.ts'
import { canRun, openSubject } from '../subject.ts'
import type { Subject } from '../subject.ts'

describe.skipIf(!canRun).each(drivers)('$name:', (driver) => {
  let subject: Subject
  let open: OpenDriver
  beforeAll(async () => {
    subject = await openSubject()
    open = await driver.open(subject.owner.at)
  })
  afterAll(async () => {
    await open.close()
    await subject[Symbol.asyncDispose]()
  })

  /** Loses a connection in a transaction whose work then throws. @returns whether the transaction ends with what was thrown */
  const throwsItsOwn = async (lose: typeof loseConnection, from: OpenDriver): Promise<boolean> => {
    const thrown = new Error('no')
    const lost = from.transactions(async (transaction) => {
      await lose(subject, from, transaction)
      throw thrown
    })
    const error: unknown = await lost.catch((reason: unknown) => reason)
    // postgres.js does not wait for the work to end if it notices the lost connection first.
    return error === thrown || (driver.name.includes('postgres.js') && isTaskError(error, 'DATABASE_UNAVAILABLE'))
  }

  test('what the work threw is what is thrown, though its rollback fails', async () => {
    expect(await throwsItsOwn(loseConnection, open)).toBe(true)
  })

  test('a pool that has lost all of its connections while the process was busy serves again, and can be closed', async () => {
    const other = await driver.open(subject.owner.at)
    const all = { length: other.transactions.connections! }
    await Promise.all(Array.from(all, () => throwsItsOwn(loseConnectionWhileBusy, other)))
    const serving = Array.from(all, () =>
      other.transactions((transaction) => other.adapter.execute(transaction, raw('select 1'))),
    )
    expect((await Promise.all(serving)).flat()).toHaveLength(all.length)
    await other.close()
  })
})
