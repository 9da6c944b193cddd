import { abortOf } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import type { Mysql2Connection } from './adapter.ts'
import { classifyMysqlError } from '../../dialects/mysql/errors.ts'
import { closed, guard } from './guard.ts'
import { transactionAttempt } from '../shared/transaction-attempt.ts'
import type { Session } from '../shared/transaction-attempt.ts'
import { ownWord } from '../shared/own-word.ts'
import { checkRetries, isRepeatable, repeat } from '../shared/retry-transaction.ts'
import type { RepeatOptions } from '../shared/retry-transaction.ts'

/** What we need of a pool of `mysql2/promise`. */
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
 * Transactions on connections of a pool of `mysql2/promise`, at READ COMMITTED whatever the server's default is: a poll at REPEATABLE READ locks
 * the gaps between rows too, and pushes wait for it.
 *
 * `work` is run again, in a new transaction, after a deadlock, and when the connection was lost before the commit was sent. A lock that was waited
 * for too long is DATABASE_BUSY, and yours to repeat. A commit that was sent and not answered is never repeated: its outcome is unknown. A deadlock ends the transaction on the
 * server: `work` that goes on all the same is refused every further statement with TRANSACTION_CLOSED. On a Galera cluster a transaction that a node has
 * ended and not told of is found out by asking (`connection.prepare` of your own, and statements side by side on the connection, are not watched).
 *
 * @throws what `work` throws, after a rollback; TaskError TRANSACTION_CONFLICT, DATABASE_READ_ONLY when it went on; DATABASE_BUSY if no
 * connection is free; DATABASE_UNAVAILABLE if there is none, or it is lost: on the commit itself the outcome is unknown; ARGUMENT_INVALID
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
  const own = ownWord(classifyMysqlError)
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
            const result = await work(connection)
            if (watch.rolledBack) throw closed(watch.rolledBack)
            return result
          },
          enter,
          named,
          own.lost,
          abort,
        )
      },
      (error, phase) => isRepeatable(named(error), phase),
      abort,
    )
  }
  const connections = pool.pool?.config?.connectionLimit
  return Object.assign(transact, { classify: own.classify }, connections !== undefined && { connections })
}

async function openSession<Connection extends Mysql2PoolConnection>(
  pool: Mysql2Pool<Connection>,
  beforeBegin: (connection: Connection) => Promise<void>,
): Promise<Session<Connection>> {
  const connection = await pool.getConnection()
  let lost: Error | undefined
  // A connection that is lost between two statements says so by an event.
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
      connection.off('error', onError)
      if (!broken) return connection.release()
      connection.destroy()
      // The driver waits for the server to say goodbye: one that says nothing would keep the process from ending.
      ;(connection as { connection?: { stream?: { destroy?(): void } } }).connection?.stream?.destroy?.()
    },
  }
}

/** Whether this is MariaDB in a cluster: servers of one pool are nodes of one, or of none. */
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

/** Errors of `work`'s own statements come as the driver threw them. */
function named(error: unknown): unknown {
  return classifyMysqlError(error) ?? error
}
