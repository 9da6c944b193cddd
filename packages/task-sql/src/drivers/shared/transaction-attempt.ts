import { isTaskError } from '@taskstream/task-api'
import type { Abort } from '@taskstream/task-api'
import { untilAtRest, untilSettled } from '../../core/under-way.ts'
import { answered } from './answered.ts'
import type { ErrorOrigin } from './error-origin.ts'
import type { Phase } from './retry-transaction.ts'

/** A connection of a pool, for one transaction. */
export interface Session<Connection> {
  readonly connection: Connection
  /** Why the connection was lost, if an event has said so between two statements. */
  readonly lost?: Error | undefined
  begin(): Promise<unknown>
  commit(): Promise<unknown>
  rollback(): Promise<unknown>
  /** Gives the connection back to its pool. A broken connection is closed instead, together with its running statement. */
  release(broken: Error | undefined): Promise<void> | void
}

/**
 * Runs one transaction, from taking its connection to its end. The driver's errors are thrown after classification, errors of `work` unchanged.
 *
 * @param named classifies an error of the driver
 * @param lost is called with the error that is thrown, if the connection was lost before the commit was sent
 * @param abort closes the connection without a rollback
 */
export async function transactionAttempt<Connection, Result>(
  open: () => Promise<Session<Connection>>,
  work: (connection: Connection) => Result | Promise<Result>,
  enter: (phase: Phase) => void,
  named: (error: unknown) => unknown,
  lost: ErrorOrigin['lost'],
  abort: Abort | undefined,
): Promise<Result> {
  const rethrow = (error: unknown): never => {
    throw named(error)
  }
  const session = await open().catch(rethrow)
  if (abort?.aborted) {
    // Nobody waits for the connection any more, and it is unused.
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
    const result = await untilSettled(session.connection, work)
    // The loss is reported before the commit is sent: from then on the outcome would be unknown.
    if (session.lost) rethrow(session.lost)
    enter('committing')
    sent = true
    await session.commit().catch(rethrow)
    return result
  } catch (error) {
    abort?.throwIfAborted()
    // Abandoned work may still use the connection. The connection is closed, so that no statement of that work runs outside this transaction.
    if (isTaskError(error, 'TRANSACTION_ABANDONED')) {
      broken = error
      throw error
    }
    // A connection that cannot roll back, or does not answer, is closed, which has the server roll back.
    const rolledBack = untilAtRest(session.connection, error).then(() => session.rollback())
    await answered(rolledBack).catch((cause: Error) => (broken = cause))
    // The caller's own error says nothing of a connection that only answers late, as behind a lock: to run the work again would do it twice.
    const isLate = isTaskError(broken, 'DATABASE_UNAVAILABLE') && !session.lost && !isTaskError(named(error))
    broken ??= session.lost
    if (broken && !sent) {
      if (!isLate) enter('lost')
      lost(error)
    }
    // A connection to a standby is not used again: if the address moves to the new primary, a new connection leads there.
    if (isTaskError(named(error), 'DATABASE_READ_ONLY')) broken ??= error as Error
    throw error
  } finally {
    forget?.()
    release(broken ?? session.lost)
    await released
  }
}
