import { TaskError } from '@taskstream/task-api'
import type { Mysql2Connection } from './adapter.ts'

/** A connection that can prepare a statement without executing it. */
export interface GuardedConnection extends Mysql2Connection {
  prepare?(text: string): Promise<{ readonly statement?: object }>
}

/** Watches over the statements of one transaction, until it is disposed of. */
export interface Guard extends Disposable {
  /** The server's word that it has rolled the transaction back, if any of its statements was answered so. */
  readonly rolledBack: Error | undefined
}

/** A deadlock; a wait that was given up undoes its statement only. https://mariadb.com/kb/en/innodb-lock-modes/ */
const deadlock = 1213

/** SERVER_STATUS_IN_TRANS, which the answer to a write bears. https://mariadb.com/kb/en/ok_packet/ */
const inTransaction = 1

/**
 * A deadlock ends the transaction on the server, and the next statement is committed by itself. Work that catches the error, and goes on, must
 * not write what nobody can take back: nothing more is sent.
 *
 * A node of a Galera cluster does not always tell: of a transaction that it ends while a `select` is being prepared nobody hears (MariaDB 10.11, in
 * one of ten such cases). There it is asked, after each preparation and before what was prepared is executed.
 *
 * @param harmless on a node of a cluster, what was prepared and has not cost a transaction: what the driver has forgotten, and prepares again, is
 * another object
 */
export function guard(connection: GuardedConnection, harmless: WeakSet<object> | undefined): Guard {
  let rolledBack: Error | undefined
  let open = true
  const { query } = connection
  const prepare = async (text: unknown, harmless: WeakSet<object>): Promise<void> => {
    // A definition has committed it, as everywhere.
    if (!open) return
    // What cannot be prepared says so when it is executed.
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
  // Most often nothing, as they are the prototype's; unless somebody else watches too.
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

/** For work that has gone on after a deadlock. */
export function closed(cause: Error): TaskError {
  return new TaskError(
    'TRANSACTION_CLOSED',
    'A deadlock was ignored inside the transaction: the server had rolled it back',
    {},
    { cause },
  )
}
