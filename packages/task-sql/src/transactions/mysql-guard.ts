import { TaskError } from '@taskstream/task-api'
import type { Mysql2Connection } from '../adapters/from-mysql2.ts'

/** Watches over the statements of one transaction, until it is disposed of. */
export interface Guard extends Disposable {
  /** The server's word that it has rolled the transaction back, if any of its statements was answered so. */
  readonly rolledBack: Error | undefined
}

/** A deadlock; a wait that was given up undoes its statement only. https://mariadb.com/kb/en/innodb-lock-modes/ */
const deadlock = 1213

/**
 * A deadlock ends the transaction on the server, and the next statement is committed by itself. Work that catches the error, and goes on, must
 * not write what nobody can take back: nothing more is sent.
 */
export function guard(connection: Mysql2Connection): Guard {
  let rolledBack: Error | undefined
  const watched =
    <Arguments extends unknown[]>(send: (...args: Arguments) => Promise<[unknown, ...unknown[]]>) =>
    async (...args: Arguments): Promise<[unknown, ...unknown[]]> => {
      if (rolledBack) throw closed(rolledBack)
      try {
        return await send.apply(connection, args)
      } catch (error) {
        if ((error as { errno?: number }).errno === deadlock) rolledBack = error as Error
        throw error
      }
    }
  // Most often nothing, as they are the prototype's; unless somebody else watches too.
  const before: Partial<Mysql2Connection> = {
    ...(Object.hasOwn(connection, 'execute') && { execute: connection.execute }),
    ...(Object.hasOwn(connection, 'query') && { query: connection.query }),
  }
  Object.assign(connection, { execute: watched(connection.execute), query: watched(connection.query) })
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

/** For work that has gone on after a deadlock. */
export function closed(cause: Error): TaskError {
  return new TaskError(
    'TRANSACTION_CLOSED',
    'A deadlock was ignored inside the transaction: the server had rolled it back',
    {},
    { cause },
  )
}
