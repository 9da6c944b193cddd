/** What a database may be short of for a while: brought about on a real server or file, and ended by the test. */
import type { HeldTask, Shortage, TransactionSource } from '@taskstream/task-api'
import { raw, sql } from '@taskstream/task-sql'
import type { Statement } from '@taskstream/task-sql'
import { isPostgres } from '../../subject.ts'
import type { AnyTransaction, Session, Subject } from '../../subject.ts'

/** A database that can be made short of something. */
export interface Short extends AsyncDisposable {
  /** The node's own. */
  readonly transactions: TransactionSource<AnyTransaction>
  /** From now on the tasks cannot be completed. */
  begin(tasks: readonly HeldTask[]): Promise<void>
  end(): Promise<void>
}

export interface ShortOf {
  readonly name: string
  /** By which name a node is to tell of it: the driver's, where nothing has come of it yet but that there is no connection. */
  readonly code: string
  readonly shortOf?: Shortage
  /** It has to do with the rows of the tasks: others can be completed meanwhile. */
  readonly ofRows?: true
  /** It comes and goes without a lock on the table. */
  readonly said?: true
  open(subject: Subject): Promise<Short>
}

export const busy = (shortOf: Shortage): Pick<ShortOf, 'code' | 'shortOf'> => ({ code: 'DATABASE_BUSY', shortOf })

export const execute = (subject: Subject, statement: Statement): Promise<readonly { readonly [column: string]: unknown }[]> =>
  subject.transactions((transaction) => subject.execute(transaction, statement))

/** Another session, such as an administrator's, has the rows of these tasks in its open transaction. */
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

/** Rows that are locked by somebody else until the end. */
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
