import { abortOf } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import type { OracledbConnection } from './adapter.ts'
import { classifyOracleError } from '../../dialects/oracle/errors.ts'
import { transactionAttempt } from '../shared/transaction-attempt.ts'
import type { Session } from '../shared/transaction-attempt.ts'
import { ownWord } from '../shared/own-word.ts'
import { checkRetries, isRepeatable, repeat } from '../shared/retry-transaction.ts'
import type { RepeatOptions } from '../shared/retry-transaction.ts'

/** What we need of a pool of `oracledb`. */
export interface OracledbPool<Connection extends OracledbPoolConnection = OracledbPoolConnection> {
  // As many as the driver's own types have: the type of its connections is inferred from overloads in their order.
  getConnection(): Promise<Connection>
  getConnection(...args: never[]): Promise<Connection> | void
  getConnection(...args: never[]): Promise<Connection> | void
  readonly poolMax?: number | undefined
}

export interface OracledbPoolConnection extends OracledbConnection {
  commit(): Promise<void>
  rollback(): Promise<void>
  close(options: { drop: boolean }): Promise<void>
}

export type OracledbTransactionsOptions = RepeatOptions

/**
 * Transactions on connections of a pool of `oracledb`, at READ COMMITTED unless a session was altered.
 *
 * `work` is run again, in a new transaction, after a deadlock, and when the connection was lost before the commit was sent. A lock that was waited
 * for too long is DATABASE_BUSY, and yours to repeat. A commit that was sent and not answered is never repeated: its outcome is unknown.
 *
 * @throws what `work` throws, after a rollback; TaskError TRANSACTION_CONFLICT, DATABASE_READ_ONLY when it went on; DATABASE_BUSY if no
 * connection came free; DATABASE_UNAVAILABLE if there is none, or it is lost: on the commit itself the outcome is unknown; ARGUMENT_INVALID
 * @example
 * const transactions = oracledbTransactions(await oracledb.createPool({ user, password, connectString }))
 * await transactions(async (connection) => {
 *   await connection.execute('insert into invoice values (:1)', ['inv-1'])
 *   await tasks.push(connection, 'invoices', 'inv-1')
 * })
 */
export function oracledbTransactions<Connection extends OracledbPoolConnection>(
  pool: OracledbPool<Connection>,
  options: OracledbTransactionsOptions = {},
): TransactionSource<Connection> {
  const retries = checkRetries(options)
  const own = ownWord(classifyOracleError)
  const transact: TransactionSource<Connection> = (work, transactionOptions) => {
    const abort = abortOf(transactionOptions)
    return repeat(
      retries,
      (enter) => transactionAttempt(() => openSession(pool), work, enter, named, own.lost, abort),
      (error, phase) => isRepeatable(named(error), phase),
      abort,
    )
  }
  const connections = pool.poolMax
  return Object.assign(transact, { classify: own.classify }, connections !== undefined && { connections })
}

async function openSession<Connection extends OracledbPoolConnection>(
  pool: OracledbPool<Connection>,
): Promise<Session<Connection>> {
  const connection = await pool.getConnection()
  return {
    connection,
    // The first statement begins it.
    begin: async () => {},
    commit: () => connection.commit(),
    rollback: () => connection.rollback(),
    release: async (broken) => {
      const ended = connection.close({ drop: broken !== undefined }).catch(() => {})
      // Where it is still in use, its end would be waited for.
      if (!broken) await ended
    },
  }
}

/** Errors of `work`'s own statements come as the driver threw them. */
function named(error: unknown): unknown {
  return classifyOracleError(error) ?? error
}
