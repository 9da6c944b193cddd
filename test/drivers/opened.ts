/** A driver on an empty database of its own, with a table of the caller's beside those of the tasks. */
import { raw, sql, sqlTaskRepository } from '@taskstream/task-sql'
import { isMysql, openSubject } from '../subject.ts'
import type { Subject, Tasks } from '../subject.ts'
import type { Driver, OpenDriver, Steps } from './driver.ts'
import { placeOf } from './place.ts'

export interface Opened extends AsyncDisposable {
  readonly subject: Subject
  /** Where only this driver's tests migrate. */
  readonly at: string
  readonly open: OpenDriver
  readonly tasks: Tasks
}

export async function openDriver(driver: Driver): Promise<Opened> {
  const subject = await openSubject()
  const at = await placeOf(subject)
  const open = await driver.open(at)
  const adapter = open.adapter as OpenDriver['adapter'] & { execution: 'async' }
  const create: Steps = function* (transaction) {
    const type = raw(isMysql ? 'text character set utf8mb4' : 'text')
    yield open.adapter.execute(transaction, sql`create table invoice (id ${type})`)
  }
  await open.transact(create)
  return {
    subject,
    at,
    open,
    tasks: sqlTaskRepository({ dialect: open.dialect, adapter }),
    [Symbol.asyncDispose]: async () => {
      await open.close()
      if (subject.engine === 'mariadb') {
        const drop = raw(`drop database ${new URL(at).pathname.slice(1)}`)
        await subject.transactions((transaction) => subject.execute(transaction, drop))
      }
      await subject[Symbol.asyncDispose]()
    },
  }
}
