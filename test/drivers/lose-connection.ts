/** Has the server end the connection of a driver's transaction. */
import { raw } from '@taskstream/task-sql'
import { isMysql } from '../subject.ts'
import type { AnyTransaction, Subject } from '../subject.ts'
import type { OpenDriver } from './driver.ts'

/** Ends the connection, and waits until the server has done so. The driver may not have noticed it yet. */
export async function loseConnection(subject: Subject, driver: OpenDriver, transaction: AnyTransaction): Promise<void> {
  await end(subject, await identify(driver, transaction))
}

/** Ends the connection while this process is busy: the driver hears of it in the same turn as of the answer to the last statement. */
export async function loseConnectionWhileBusy(subject: Subject, driver: OpenDriver, transaction: AnyTransaction): Promise<void> {
  const id = await identify(driver, transaction)
  let ending: Promise<unknown> | undefined
  await subject.transactions((session) => {
    ending = subject.execute(session, raw(kill(id))) as Promise<unknown>
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
    return ending
  })
}

async function identify({ adapter }: OpenDriver, transaction: AnyTransaction): Promise<number> {
  const [row] = await adapter.execute(transaction, raw(`select ${isMysql ? 'connection_id' : 'pg_backend_pid'}() as id`))
  return Number(row?.['id'])
}

async function end(subject: Subject, id: number): Promise<void> {
  await subject.transactions((session) => subject.execute(session, raw(kill(id))))
}

function kill(id: number): string {
  return isMysql ? `kill ${id}` : `select pg_terminate_backend(${id}, 10000)`
}
