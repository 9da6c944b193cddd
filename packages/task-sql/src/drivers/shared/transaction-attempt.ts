import { isTaskError } from '@taskstream/task-api'
import type { Abort } from '@taskstream/task-api'
import { answered } from './answered.ts'
import type { OwnWord } from './own-word.ts'
import type { Phase } from './retry-transaction.ts'

/** A connection of a pool, for one transaction. */
export interface Session<Connection> {
  readonly connection: Connection
  /** Why the connection was lost, if an event has said so between two statements. */
  readonly lost?: Error | undefined
  begin(): Promise<unknown>
  commit(): Promise<unknown>
  rollback(): Promise<unknown>
  /** Gives the connection back, or ends it, and with it whatever it was doing. */
  release(broken: Error | undefined): Promise<void> | void
}

/**
 * One transaction, from its connection to its end. What the driver throws on the way is thrown by its name, and what `work` throws as it is.
 *
 * @param named gives an error of the driver its name
 * @param lost is told what `work` threw, or would have met, when its connection was lost
 * @param abort closes the connection as it is
 */
export async function transactionAttempt<Connection, Result>(
  open: () => Promise<Session<Connection>>,
  work: (connection: Connection) => Result | Promise<Result>,
  enter: (phase: Phase) => void,
  named: (error: unknown) => unknown,
  lost: OwnWord['lost'],
  abort: Abort | undefined,
): Promise<Result> {
  const rethrow = (error: unknown): never => {
    throw named(error)
  }
  const session = await open().catch(rethrow)
  if (abort?.aborted) {
    // Nobody waits for it any more, and nothing was done on it.
    await session.release(undefined)
    throw abort.reason
  }
  enter('working')
  let sent = false
  let broken: Error | undefined
  let released: Promise<void> | void = undefined
  let isOpen = true
  const release = (why: Error | undefined): void => {
    if (!isOpen) return
    isOpen = false
    released = session.release(why)
  }
  const giveUp = (): void => release(abort!.reason as Error)
  const forget = abort?.onAbort(giveUp)
  try {
    await session.begin().catch(rethrow)
    const result = await work(session.connection)
    // What is known to be lost was not committed; a commit that is sent may have been.
    if (session.lost) rethrow(session.lost)
    enter('committing')
    sent = true
    await session.commit().catch(rethrow)
    return result
  } catch (error) {
    abort?.throwIfAborted()
    // Something may be using the connection still, and must not come to use it outside this transaction: it is closed as it is.
    if (isTaskError(error, 'TRANSACTION_ABANDONED')) {
      broken = error
      throw error
    }
    // A connection that cannot roll back, or says nothing, is not fit for the next transaction: it goes, and the server rolls back.
    await answered(session.rollback()).catch((cause: Error) => (broken = cause))
    broken ??= session.lost
    if (broken && !sent) {
      enter('lost')
      lost(error)
    }
    // Nor is one to a standby: where the address moves to the new primary, a new connection goes there.
    if (isTaskError(named(error), 'DATABASE_READ_ONLY')) broken ??= error as Error
    throw error
  } finally {
    forget?.()
    release(broken ?? session.lost)
    await released
  }
}
