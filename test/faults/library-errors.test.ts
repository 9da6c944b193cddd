/** Every driver and library for a server: whose word an error is, and what a pool says that has no connection left. */
import { isTaskError, TaskError } from '@taskstream/task-api'
import { raw } from '@taskstream/task-sql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OpenDriver } from '../drivers/driver.ts'
import { mysqlDrivers } from '../drivers/mysql.ts'
import { postgresDrivers } from '../drivers/postgres.ts'
import { canRun, isMysql, openSubject } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'

/** Has the server say of one invoice that its statement was cancelled. */
const refusing: readonly string[] = isMysql
  ? [
      `create trigger cancelled before insert on invoice for each row begin
         if new.id = 'cancelled' then signal sqlstate 'HY000' set mysql_errno = 1317, message_text = 'cancelled'; end if;
       end`,
    ]
  : [
      `create function cancelled() returns trigger language plpgsql as $$
       begin raise exception 'cancelled' using errcode = '57014'; end $$`,
      `create trigger cancelled before insert on invoice for each row when (new.id = 'cancelled') execute function cancelled()`,
    ]
const withCode = (code: string): Error => Object.assign(new Error(code), { code })

describe.skipIf(!canRun).each(isMysql ? mysqlDrivers : postgresDrivers)('$name', (driver) => {
  let subject: Subject
  let open: OpenDriver
  beforeAll(async () => {
    subject = await openSubject()
    for (const statement of ['create table invoice (id varchar(99))', ...refusing])
      await subject.transactions((transaction) => subject.execute(transaction, raw(statement)))
    open = await driver.open(subject.location.at)
  })
  afterAll(async () => {
    await open.close()
    await subject[Symbol.asyncDispose]()
  })

  const loseConnection = async (transaction: AnyTransaction): Promise<void> => {
    const [row] = await open.adapter.execute(transaction, raw(`select ${isMysql ? 'connection_id' : 'pg_backend_pid'}() as id`))
    const kill = isMysql ? `kill ${Number(row?.['id'])}` : `select pg_terminate_backend(${Number(row?.['id'])}, 10000)`
    await subject.transactions((session) => subject.execute(session, raw(kill)))
  }
  const thrownBy = (work: (transaction: AnyTransaction) => unknown): Promise<unknown> =>
    open.transactions(async (transaction) => void (await work(transaction))).catch((error: unknown) => error)
  const nameOf = (error: unknown): TaskError | undefined => open.transactions.classify?.(error)

  test('says what its database has said to the work, however that is wrapped', async () => {
    const cancelled = await thrownBy((transaction) => open.insertInvoice(transaction, 'cancelled'))
    for (const error of [cancelled, new Error('wrapped', { cause: cancelled })])
      expect(nameOf(error)).toMatchObject({ code: 'DATABASE_BUSY', data: { shortOf: 'time' } })
  })

  test('says nothing of what the work throws of its own, or for another service', async () => {
    const own = [
      withCode('ECONNREFUSED'),
      withCode('ECONNRESET'),
      new Error('timeout exceeded when trying to connect'),
      new TaskError('DATABASE_UNAVAILABLE', 'another database'),
      new TaskError('TOPIC_UNKNOWN', 'no'),
      new Error('mine'),
    ]
    for (const error of own) {
      expect(nameOf(error)).toBeUndefined()
      expect(await thrownBy(() => Promise.reject(error))).toBe(error)
      expect(nameOf(error)).toBeUndefined()
    }
    for (const other of [undefined, null, 'no', 1205]) expect(nameOf(other)).toBeUndefined()
  })

  test('says that the connection was lost, whatever the work has made of it', async () => {
    const lost = await thrownBy(async (transaction) => {
      await open.insertInvoice(transaction, 'lost')
      await loseConnection(transaction)
      throw new Error('mine')
    })
    // postgres.js does not wait for the work to end when it learns of the loss first.
    expect(isTaskError(lost) ? lost : nameOf(lost)).toMatchObject({ code: 'DATABASE_UNAVAILABLE' })
  })

  test('says so when somebody keeps the last connection of its pool', async ({ skip }) => {
    skip(driver.waits === true, 'This driver waits for a connection for as long as that takes.')
    const small = await driver.open(subject.location.at, { max: 1, waitMs: 200 })
    const gate = Promise.withResolvers<void>()
    const taken = Promise.withResolvers<void>()
    const keep = (): Promise<void> =>
      small.transactions(async () => {
        taken.resolve()
        await gate.promise
      })
    // On a busy machine even the first connection may take longer than the pool waits.
    const isShort = (error: unknown): boolean => isTaskError(error) && error.code.startsWith('DATABASE_')
    const keeper = keep().catch(async function again(error: unknown): Promise<void> {
      if (!isShort(error)) throw error
      await keep().catch(again)
    })
    await Promise.race([taken.promise, keeper])
    const refused: unknown = await small.transactions(() => {}).catch((error: unknown) => error)
    gate.resolve()
    await keeper
    await small.close()
    // Prisma does not say why it had none, unless its driver has said so first.
    expect(refused).toMatchObject(
      driver.name === 'Prisma' ? { code: 'DATABASE_UNAVAILABLE' } : { code: 'DATABASE_BUSY', data: { shortOf: 'connections' } },
    )
  })
})
