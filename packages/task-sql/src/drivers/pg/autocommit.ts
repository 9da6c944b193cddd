import { isTaskError } from '@taskstream/task-api'
import type { Abort } from '@taskstream/task-api'
import { classifyPostgresError } from '../../dialects/postgres/errors.ts'
import type { PgPool, PgPoolClient } from './transactions.ts'

/** Whether statements of a connection are at READ COMMITTED unless a transaction says otherwise, once that is known. */
export type ReadCommitted = WeakMap<PgPoolClient, boolean>

/** Where the server, the role or the pool has set another isolation than that of our transactions: a statement alone would have it too. */
export const notReadCommitted: unique symbol = Symbol('not read committed')

/**
 * Runs `work` on a connection of the pool, each statement committed on its own.
 *
 * @returns `notReadCommitted`, and nothing was run, where the connection has another isolation by default
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
  // A connection that is lost between two statements says so by an event, which would end the process if nobody listened.
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
    return fits ? await work(client) : notReadCommitted
  } catch (error) {
    const known = classifyPostgresError(error) ?? error
    // A standby is not fit for what comes next: where the address moves to the new primary, a new connection goes there.
    if (isTaskError(known, 'DATABASE_READ_ONLY') || isTaskError(known, 'DATABASE_UNAVAILABLE')) broken ??= error as Error
    throw known
  } finally {
    client.off('error', onError)
    forget?.()
    release(broken)
  }
}
