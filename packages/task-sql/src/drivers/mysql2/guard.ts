import { TaskError } from '@taskstream/task-api'
import type { Mysql2Connection } from './adapter.ts'

/** A connection that can prepare a statement without executing it. */
export interface GuardedConnection extends Mysql2Connection {
  prepare?(text: string): Promise<{ readonly statement?: object }>
}

/** Watches over the statements of one transaction, until it is disposed of. */
export interface Guard extends Disposable {
  /** The error by which the server said that it rolled the transaction back, if a statement failed with such an error. */
  readonly rolledBack: Error | undefined
}

/** ER_LOCK_DEADLOCK rolls the whole transaction back; a lock wait timeout undoes only its statement. https://mariadb.com/kb/en/innodb-lock-modes/ */
const deadlock = 1213

/** SERVER_STATUS_IN_TRANS: the answer to a write has this flag while a transaction is open. https://mariadb.com/kb/en/ok_packet/ */
const inTransaction = 1

/**
 * Refuses further statements after a deadlock. A deadlock ends the transaction on the server, which would then commit each further statement by
 * itself: work that catches the error and goes on must not write such statements.
 *
 * A node of a Galera cluster may end a transaction silently while it prepares a `select` (MariaDB 10.11, in one of ten such cases). On such a node
 * the guard asks whether the transaction is still open, after each preparation and before the statement is executed.
 *
 * @param harmless on a node of a Galera cluster, the prepared statements whose preparation left the transaction open. A statement that the driver
 * forgets and prepares again is a new object, so the guard asks again. Undefined elsewhere
 */
export function guard(connection: GuardedConnection, harmless: WeakSet<object> | undefined): Guard {
  let rolledBack: Error | undefined
  let open = true
  const { query } = connection
  const prepare = async (text: unknown, harmless: WeakSet<object>): Promise<void> => {
    // A definition (create, alter, drop) has committed the transaction, which is no conflict.
    if (!open) return
    // A statement that cannot be prepared fails with the same error when it is executed.
    const prepared = await connection.prepare?.(text as string).catch(ifDeadlock)
    if (prepared?.statement && harmless.has(prepared.statement)) return
    const [rows] = await query.call(connection, 'select @@in_transaction as open')
    if (Number((rows as { open: unknown }[])[0]?.open) !== 1) throw (rolledBack = ended())
    if (prepared?.statement) harmless.add(prepared.statement)
  }
  const watched =
    <Arguments extends unknown[]>(
      send: (...args: Arguments) => Promise<[unknown, ...unknown[]]>,
      before?: (text: unknown) => Promise<void>,
    ) =>
    async (...args: Arguments): Promise<[unknown, ...unknown[]]> => {
      if (rolledBack) throw closed(rolledBack)
      try {
        await before?.(args[0])
        const answer = await send.apply(connection, args)
        const { serverStatus } = (answer[0] ?? {}) as { serverStatus?: number }
        if (serverStatus !== undefined) open = (serverStatus & inTransaction) !== 0
        return answer
      } catch (error) {
        if (isDeadlock(error)) rolledBack = error as Error
        throw error
      }
    }
  // Both methods are usually the prototype's. A wrapper that somebody else put on the connection must be restored.
  const before: Partial<Mysql2Connection> = {
    ...(Object.hasOwn(connection, 'execute') && { execute: connection.execute }),
    ...(Object.hasOwn(connection, 'query') && { query: connection.query }),
  }
  Object.assign(connection, {
    execute: watched(connection.execute, harmless && ((text) => prepare(text, harmless))),
    query: watched(query),
  })
  return {
    get rolledBack() {
      return rolledBack
    },
    [Symbol.dispose]: () => {
      const watching: Partial<Mysql2Connection> = connection
      delete watching.execute
      delete watching.query
      Object.assign(connection, before)
    },
  }
}

function isDeadlock(error: unknown): boolean {
  return (error as { errno?: number }).errno === deadlock
}

function ifDeadlock(error: unknown): undefined {
  if (isDeadlock(error)) throw error
}

function ended(): TaskError {
  return new TaskError(
    'TRANSACTION_CONFLICT',
    'The transaction is no longer open, and the server did not say why: another node of the cluster was in the way',
    {},
  )
}

/** Makes the error for work that has gone on after a deadlock. */
export function closed(cause: Error): TaskError {
  return new TaskError(
    'TRANSACTION_CLOSED',
    'A deadlock was ignored inside the transaction: the server had rolled it back',
    {},
    { cause },
  )
}
