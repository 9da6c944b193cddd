import { abortOf } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import type { Mysql2Connection } from './adapter.ts'
import { classifyMysqlError } from '../../dialects/mysql/errors.ts'
import { asWork, untilSettled } from '../../core/under-way.ts'
import { closed, guard } from './guard.ts'
import { transactionAttempt } from '../shared/transaction-attempt.ts'
import type { Session } from '../shared/transaction-attempt.ts'
import { errorOrigin } from '../shared/error-origin.ts'
import { checkRetries, isRepeatable, repeat } from '../shared/retry-transaction.ts'
import type { RepeatOptions } from '../shared/retry-transaction.ts'

/** The part of a pool of `mysql2/promise` that a transaction source uses. */
export interface Mysql2Pool<Connection extends Mysql2PoolConnection = Mysql2PoolConnection> {
  getConnection(): Promise<Connection>
  readonly pool?: { readonly config?: { readonly connectionLimit?: number | undefined } }
}

export interface Mysql2PoolConnection extends Mysql2Connection {
  release(): void
  destroy(): void
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}

export type Mysql2TransactionsOptions = RepeatOptions

/**
 * Transactions on connections of a pool of `mysql2/promise`, at READ COMMITTED whatever the server's default is. At REPEATABLE READ a poll would
 * also lock the gaps between rows, and pushes would wait for the poll.
 *
 * `work` is run again in a new transaction after a deadlock, and after the connection was lost before the commit was sent. A lock wait that timed
 * out throws DATABASE_BUSY, and the caller decides whether to repeat. A commit that was sent and not answered is never repeated, because its outcome
 * is unknown.
 *
 * A deadlock ends the transaction on the server. If `work` goes on, each further statement throws TRANSACTION_CLOSED. A node of a Galera cluster may
 * end a transaction silently, so the source asks such a node whether the transaction is still open. The source does not watch your own calls of
 * `connection.prepare`, nor statements that run at the same time on the connection.
 *
 * @throws the error of `work`, after a rollback; TaskError TRANSACTION_CONFLICT or DATABASE_READ_ONLY if all retries failed so; DATABASE_BUSY if no
 * connection is free; DATABASE_UNAVAILABLE if no connection could be made, or if the connection was lost; ARGUMENT_INVALID if an option is out of
 * range. When the connection was lost during the commit, the outcome is unknown
 * @example
 * const transactions = mysql2Transactions(createPool({ uri: 'mysql://…' }))
 * await transactions(async (connection) => {
 *   await connection.execute('insert into invoice values (?)', ['inv-1'])
 *   await tasks.push(connection, 'invoices', 'inv-1')
 * })
 */
export function mysql2Transactions<Connection extends Mysql2PoolConnection>(
  pool: Mysql2Pool<Connection>,
  options: Mysql2TransactionsOptions = {},
): TransactionSource<Connection> {
  const retries = checkRetries(options)
  const isGalera = askedOnce()
  const harmless = new WeakSet()
  const origin = errorOrigin(classifyMysqlError)
  const transact: TransactionSource<Connection> = (work, transactionOptions) => {
    const abort = abortOf(transactionOptions)
    return repeat(
      retries,
      (enter) => {
        let galera = false
        return transactionAttempt(
          () => openSession(pool, async (connection) => void (galera = await isGalera(connection))),
          async (connection) => {
            using watch = guard(connection, galera ? harmless : undefined)
            // The guard watches the verbs that the work has not awaited, too.
            const result = await untilSettled(connection, work)
            if (watch.rolledBack) throw closed(watch.rolledBack)
            return result
          },
          enter,
          named,
          origin.lost,
          abort,
        )
      },
      (error, phase) => isRepeatable(named(error), phase),
      abort,
    )
  }
  const connections = pool.pool?.config?.connectionLimit
  return Object.assign(
    transact,
    { classify: origin.classify, closesAbandoned: true, within: asWork },
    connections !== undefined && { connections },
  )
}

async function openSession<Connection extends Mysql2PoolConnection>(
  pool: Mysql2Pool<Connection>,
  beforeBegin: (connection: Connection) => Promise<void>,
): Promise<Session<Connection>> {
  const connection = await pool.getConnection()
  let lost: Error | undefined
  // The driver reports a connection that is lost between two statements by an event only.
  const onError = (error: Error): void => void (lost = error)
  connection.on('error', onError)
  return {
    connection,
    get lost() {
      return lost
    },
    begin: async () => {
      await beforeBegin(connection)
      await connection.query('set transaction isolation level read committed')
      await connection.query('start transaction')
    },
    commit: () => connection.query('commit'),
    rollback: () => connection.query('rollback'),
    release: (broken) => {
      if (!broken) {
        connection.off('error', onError)
        return connection.release()
      }
      // `destroy` waits until the server closes the connection, and forgets the statement that it has not answered: a silent server would keep the
      // process from ending, and whoever waits for the statement would wait for ever. So the socket ends with an error, which the driver reports to them.
      ;(connection as { connection?: { stream?: { destroy?(error: Error): void } } }).connection?.stream?.destroy?.(broken)
      connection.destroy()
    },
  }
}

/** Tells whether the server is a node of a Galera cluster. One answer serves the whole pool: either all its servers are such nodes, or none is. */
function askedOnce(): (connection: Mysql2Connection) => Promise<boolean> {
  let galera: boolean | undefined
  return async (connection) => {
    if (galera === undefined) {
      const [rows] = await connection.query("show variables where variable_name in ('wsrep_on', 'in_transaction')")
      const values = (rows as { Value: string }[]).map(({ Value }) => Value)
      galera = values.length === 2 && values.includes('ON')
    }
    return galera
  }
}

/** Classifies an error of a statement that `work` sent by itself: such an error is the driver's, not a TaskError. */
function named(error: unknown): unknown {
  return classifyMysqlError(error) ?? error
}
