/** A temporary shortage of a database, which a test causes on a real server or file, and ends. */
import type { HeldTask, Shortage, TransactionSource } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { isPostgres } from '../../subject.ts'
import type { AnyTransaction, Session, Subject } from '../../subject.ts'

/** A database in which a shortage can be caused. */
export interface Short extends AsyncDisposable {
  /** The transactions that the node uses. */
  readonly transactions: TransactionSource<AnyTransaction>
  /** From now on the tasks cannot be completed. */
  begin(tasks: readonly HeldTask[]): Promise<void>
  end(): Promise<void>
}

export interface ShortOf {
  readonly name: string
  /** The code of the error that the node reports. It is the driver's own where all that is known is that there is no connection. */
  readonly code: string
  readonly shortOf?: Shortage
  /** Whether the shortage concerns only the rows of the tasks, so that other tasks can be completed. */
  readonly ofRows?: true
  /** Whether the shortage begins and ends without a lock on the table. */
  readonly said?: true
  open(subject: Subject): Promise<Short>
}

export const busy = (shortOf: Shortage): Pick<ShortOf, 'code' | 'shortOf'> => ({ code: 'DATABASE_BUSY', shortOf })

export const execute = (subject: Subject, statement: Statement): Promise<readonly { readonly [column: string]: unknown }[]> =>
  subject.transactions((transaction) => subject.execute(transaction, statement))

/** Locks the rows of these tasks in another session's open transaction, as an administrator might. */
async function lockRows(subject: Subject, tasks: readonly HeldTask[]): Promise<Session> {
  const session = await subject.session()
  await session.begin()
  const table = raw(isPostgres ? 'taskstream.task' : 'task')
  for (const { topic, sequence } of tasks)
    await subject.execute(
      session.transaction,
      sql`select 1 as locked from ${table} where topic = ${topic} and sequence = ${sequence} for update`,
    )
  return session
}

/** Another session locks the rows until the end. */
export function rowLocks(subject: Subject): Pick<Short, 'begin' | 'end'> {
  let rival: Session | undefined
  return {
    begin: async (tasks) => void (rival = await lockRows(subject, tasks)),
    end: async () => {
      await rival?.rollback()
      rival = undefined
    },
  }
}
