import { abortOf } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import type { OracledbConnection } from './adapter.ts'
import { classifyOracleError } from '../../dialects/oracle/errors.ts'
import { asWork } from '../../core/under-way.ts'
import { transactionAttempt } from '../shared/transaction-attempt.ts'
import type { Session } from '../shared/transaction-attempt.ts'
import { errorOrigin } from '../shared/error-origin.ts'
import { checkRetries, isRepeatable, repeat } from '../shared/retry-transaction.ts'
import type { RepeatOptions } from '../shared/retry-transaction.ts'

/** The part of a pool of `oracledb` that a transaction source uses. */
export interface OracledbPool<Connection extends OracledbPoolConnection = OracledbPoolConnection> {
  // TypeScript matches overloads by their order, so there are as many as the driver's types have: otherwise it infers no type of connections.
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
 * `work` is run again in a new transaction after a deadlock, and after the connection was lost before the commit was sent. A lock wait that timed
 * out throws DATABASE_BUSY, and the caller decides whether to repeat. A commit that was sent and not answered is never repeated, because its outcome
 * is unknown.
 *
 * @throws the error of `work`, after a rollback; TaskError TRANSACTION_CONFLICT or DATABASE_READ_ONLY if all retries failed so; DATABASE_BUSY if no
 * connection came free; DATABASE_UNAVAILABLE if no connection could be made, or if the connection was lost; ARGUMENT_INVALID if an option is out of
 * range. When the connection was lost during the commit, the outcome is unknown
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
  const origin = errorOrigin(classifyOracleError)
  const transact: TransactionSource<Connection> = (work, transactionOptions) => {
    const abort = abortOf(transactionOptions)
    return repeat(
      retries,
      (enter) => transactionAttempt(() => openSession(pool), work, enter, named, origin.lost, abort),
      (error, phase) => isRepeatable(named(error), phase),
      abort,
    )
  }
  const connections = pool.poolMax
  return Object.assign(
    transact,
    { classify: origin.classify, closesAbandoned: true, within: asWork },
    connections !== undefined && { connections },
  )
}

async function openSession<Connection extends OracledbPoolConnection>(
  pool: OracledbPool<Connection>,
): Promise<Session<Connection>> {
  const connection = await pool.getConnection()
  return {
    connection,
    // Oracle begins a transaction with its first statement.
    begin: async () => {},
    commit: () => connection.commit(),
    rollback: () => connection.rollback(),
    release: async (broken) => {
      const ended = connection.close({ drop: broken !== undefined }).catch(() => {})
      // The driver closes a connection only when its current statement has ended, which may never happen on a broken one.
      if (!broken) await ended
    },
  }
}

/** Classifies an error of a statement that `work` sent by itself: such an error is the driver's, not a TaskError. */
function named(error: unknown): unknown {
  return classifyOracleError(error) ?? error
}
