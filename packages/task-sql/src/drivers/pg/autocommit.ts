import { isTaskError } from '@taskstream/task-api'
import type { Abort } from '@taskstream/task-api'
import { untilSettled } from '../../core/under-way.ts'
import { classifyPostgresError } from '../../dialects/postgres/errors.ts'
import type { PgPool, PgPoolClient } from './transactions.ts'

/** Whether a connection's default isolation is READ COMMITTED. Connections that were not asked yet have no entry. */
export type ReadCommitted = WeakMap<PgPoolClient, boolean>

/** Says that the server, the role or the pool has set another default isolation, which a statement outside a transaction would have too. */
export const notReadCommitted: unique symbol = Symbol('not read committed')

/**
 * Runs `work` on a connection of the pool, each statement committed on its own.
 *
 * @returns the result of `work`; `notReadCommitted` if the connection has another default isolation, in which case `work` was not run
 */
export async function autocommit<Client extends PgPoolClient, Result>(
  pool: PgPool<Client>,
  work: (client: Client) => Result | Promise<Result>,
  onConnected: () => void,
  abort: Abort | undefined,
  readCommitted: ReadCommitted,
): Promise<Result | typeof notReadCommitted> {
  const client = await pool.connect().catch((error: unknown) => {
    throw classifyPostgresError(error) ?? error
  })
  onConnected()
  if (abort?.aborted) {
    client.release()
    throw abort.reason
  }
  let broken: Error | undefined
  let isOpen = true
  const release = (why: Error | undefined): void => {
    if (isOpen) client.release(why)
    isOpen = false
  }
  const giveUp = (): void => release(abort!.reason as Error)
  const forget = abort?.onAbort(giveUp)
  // The driver reports a connection that is lost between two statements by an event, which would end the process if nobody listened.
  const onError = (error: Error): void => void (broken = error)
  client.on('error', onError)
  try {
    let fits = readCommitted.get(client)
    if (fits === undefined) {
      const { rows } = await client.query(
        "select current_setting('default_transaction_isolation') = 'read committed' as fits",
        [],
      )
      fits = rows[0]?.['fits'] === true
      readCommitted.set(client, fits)
    }
    // Whoever calls may go on from a transaction that is over, and whose connection this was.
    return fits ? await untilSettled(client, work) : notReadCommitted
  } catch (error) {
    const known = classifyPostgresError(error) ?? error
    // A connection to a standby is not used again: if the address moves to the new primary, a new connection leads there.
    if (isTaskError(known, 'DATABASE_READ_ONLY') || isTaskError(known, 'DATABASE_UNAVAILABLE')) broken ??= error as Error
    throw known
  } finally {
    client.off('error', onError)
    forget?.()
    release(broken)
  }
}
