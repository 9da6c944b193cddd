import type { EventEmitter } from 'node:events'
import { abortOf, checkInteger, isTaskError, TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import type { PgClient } from './adapter.ts'
import { classifyPostgresError } from '../../dialects/postgres/errors.ts'
import { transactionAttempt } from '../shared/transaction-attempt.ts'
import type { Session } from '../shared/transaction-attempt.ts'
import { ownWord } from '../shared/own-word.ts'
import { autocommit, notReadCommitted } from './autocommit.ts'
import type { ReadCommitted } from './autocommit.ts'
import { checkRetries, isRepeatable, repeat } from '../shared/retry-transaction.ts'
import type { Phase, RepeatOptions } from '../shared/retry-transaction.ts'
import { WritableServer } from './writable-server.ts'

/** What we need of a `pg.Pool`. */
export interface PgPool<Client extends PgPoolClient = PgPoolClient> {
  // As many as the driver's own types have: the type of its clients is inferred from overloads in their order.
  connect(): Promise<Client>
  connect(...args: never[]): Promise<Client> | void
  readonly options?: { readonly max?: number | undefined }
}

export interface PgPoolClient extends PgClient {
  release(error?: Error | boolean): void
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'error', listener: (error: Error) => void): unknown
}

export type PgTransactionsOptions = RepeatOptions

/**
 * Transactions on connections of a pool, at READ COMMITTED whatever the server's default is.
 *
 * `work` is run again, in a new transaction, after a deadlock or a serialization failure, and when the connection was lost or the
 * server turned read-only before the commit was sent. A commit that was sent and not answered is never repeated: its outcome is unknown.
 *
 * Given a pool for each server of a cluster, it uses the one that takes writes, and looks for it again when that one fails or turns
 * read-only. Give such pools a `connectionTimeoutMillis`.
 *
 * @throws what `work` throws, after a rollback; TaskError TRANSACTION_CONFLICT, DATABASE_READ_ONLY when it went on; DATABASE_BUSY if no
 * connection came free; DATABASE_UNAVAILABLE if there is none, or it is lost: on the commit itself the outcome is unknown; ARGUMENT_INVALID
 * @example
 * const transactions = pgTransactions(pool)
 * await transactions(async (client) => {
 *   await client.query('insert into invoice values ($1)', ['inv-1'])
 *   await tasks.push(client, 'invoices', 'inv-1')
 * })
 * @example
 * const transactions = pgTransactions(urls.map((connectionString) => new pg.Pool({ connectionString, connectionTimeoutMillis: 2_000 })))
 */
export function pgTransactions<Client extends PgPoolClient>(
  pools: PgPool<Client> | readonly PgPool<Client>[],
  options: PgTransactionsOptions = {},
): TransactionSource<Client> {
  const retries = checkRetries(options)
  const servers = [pools].flat() as PgPool<Client>[]
  checkInteger('the number of pools', servers.length, 1, 100)
  servers.forEach(hearErrors)
  const server = new WritableServer(servers)
  const own = ownWord(classifyPostgresError)
  const readCommitted: ReadCommitted = new WeakMap()
  const transact: TransactionSource<Client> = (work, transactionOptions) => {
    let pool: PgPool<Client> | undefined
    const abort = abortOf(transactionOptions)
    const transaction = repeat(
      retries,
      async (enter) => {
        pool = undefined
        const found = (pool = await server.find())
        return transactionAttempt(() => openSession(found), work, enter, named, own.lost, abort)
      },
      (error, phase) => {
        if (!pool) return false
        // Nothing was sent to a server that could not be reached, and there may be another.
        const elsewhere = isServersFault(error, phase) && server.doubt(pool) && phase === 'connecting'
        return elsewhere || isRepeatable(named(error), phase)
      },
      abort,
    )
    if (!abort || servers.length === 1) return transaction
    // One that says nothing may be a primary no more.
    return transaction.finally(abort.onAbort(() => void (pool && server.doubt(pool))))
  }
  const alone: NonNullable<TransactionSource<Client>['autocommit']> = async (work, transactionOptions) => {
    const abort = abortOf(transactionOptions)
    for (let count = 0; ; count++) {
      let phase: Phase = 'connecting'
      const pool = await server.find()
      try {
        const result = await autocommit(pool, work, () => (phase = 'committing'), abort, readCommitted)
        return result === notReadCommitted ? await transact(work, transactionOptions) : result
      } catch (error) {
        if (abort?.aborted) server.doubt(pool)
        abort?.throwIfAborted()
        // Fail over only if the connection was never made: a statement that was sent may have been committed.
        const elsewhere = isServersFault(error, phase) && server.doubt(pool) && phase === 'connecting'
        if (count >= retries || !elsewhere) throw error
      }
    }
  }
  // One server at a time: the smallest pool may be the one.
  const sizes = servers.flatMap(({ options: pool }) => pool?.max ?? [])
  return Object.assign(
    transact,
    { autocommit: alone, classify: own.classify },
    sizes.length > 0 && { connections: Math.min(...sizes) },
  )
}

async function openSession<Client extends PgPoolClient>(pool: PgPool<Client>): Promise<Session<Client>> {
  const client = await pool.connect()
  let lost: Error | undefined
  // A connection that is lost between two statements says so by an event, which would end the process if nobody listened.
  const onError = (error: Error): void => void (lost = error)
  client.on('error', onError)
  return {
    connection: client,
    get lost() {
      return lost
    },
    begin: () => client.query('begin isolation level read committed', []),
    commit: async () => {
      const { command } = (await client.query('commit', [])) as { command?: string }
      // PostgreSQL answers a commit of an aborted transaction with a rollback, and no error.
      if (command === 'ROLLBACK')
        throw new TaskError('TRANSACTION_CLOSED', 'An error was ignored inside the transaction: it was rolled back')
    },
    rollback: () => client.query('rollback', []),
    release: (broken) => {
      client.off('error', onError)
      client.release(broken)
    },
  }
}

/**
 * A new connection may be ended in the very packet that says it is ready: the pool hears of its errors no more, and who has asked for it does not
 * yet. An error that nobody hears ends the process.
 */
function hearErrors(pool: object): void {
  const emitter = pool as Partial<Pick<EventEmitter, 'on' | 'listeners'>>
  if (emitter.listeners?.('connect').includes(hearClient)) return
  emitter.on?.('connect', hearClient)
}

function hearClient(client: PgPoolClient): void {
  client.on('error', () => {})
}

/** Whether another server, or the same at another time, may do better. */
function isServersFault(error: unknown, phase: Phase): boolean {
  const known = named(error)
  return phase === 'lost' || isTaskError(known, 'DATABASE_UNAVAILABLE') || isTaskError(known, 'DATABASE_READ_ONLY')
}

/** Errors of `work`'s own statements come as the driver threw them. */
function named(error: unknown): unknown {
  return classifyPostgresError(error) ?? error
}
