import { abortOf, checkInteger, isTaskError, TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import type { PgClient } from './adapter.ts'
import { classifyPostgresError } from '../../dialects/postgres/errors.ts'
import { asWork } from '../../core/under-way.ts'
import { transactionAttempt } from '../shared/transaction-attempt.ts'
import type { Session } from '../shared/transaction-attempt.ts'
import { errorOrigin } from '../shared/error-origin.ts'
import { hearPool } from '../shared/hear-pool.ts'
import { autocommit, notReadCommitted } from './autocommit.ts'
import type { ReadCommitted } from './autocommit.ts'
import { checkRetries, isRepeatable, repeat } from '../shared/retry-transaction.ts'
import type { Phase, RepeatOptions } from '../shared/retry-transaction.ts'
import { WritableServer } from './writable-server.ts'

/** The part of a `pg.Pool` that a transaction source uses. */
export interface PgPool<Client extends PgPoolClient = PgPoolClient> {
  // TypeScript matches overloads by their order, so there are as many as the driver's types have: otherwise it infers no type of clients.
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
 * `work` is run again in a new transaction after a deadlock or a serialization failure. It is also run again after the connection was lost, or the
 * server turned read-only, before the commit was sent. A commit that was sent and not answered is never repeated, because its outcome is unknown.
 *
 * If `pools` has a pool for each server of a cluster (1 to 100), the source uses the server that takes writes. When that server fails or turns
 * read-only, the source looks for another. Give such pools a `connectionTimeoutMillis`.
 *
 * @throws the error of `work`, after a rollback; TaskError TRANSACTION_CONFLICT or DATABASE_READ_ONLY if all retries failed so; DATABASE_BUSY if no
 * connection came free; DATABASE_UNAVAILABLE if no connection could be made, or if the connection was lost; ARGUMENT_INVALID if an argument is out
 * of range. When the connection was lost during the commit, the outcome is unknown
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
  servers.forEach(hearPool)
  const server = new WritableServer(servers)
  const origin = errorOrigin(classifyPostgresError)
  const readCommitted: ReadCommitted = new WeakMap()
  const transact: TransactionSource<Client> = (work, transactionOptions) => {
    let pool: PgPool<Client> | undefined
    const abort = abortOf(transactionOptions)
    const transaction = repeat(
      retries,
      async (enter) => {
        pool = undefined
        const found = (pool = await server.find())
        return transactionAttempt(() => openSession(found), work, enter, named, origin.lost, abort)
      },
      (error, phase) => {
        if (!pool) return false
        // Nothing was sent if no connection was made, so another server may run the transaction.
        const elsewhere = isServersFault(error, phase) && server.doubt(pool) && phase === 'connecting'
        return elsewhere || isRepeatable(named(error), phase)
      },
      abort,
    )
    if (!abort || servers.length === 1) return transaction
    // A server that does not answer may no longer be the primary.
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
  // Only one server is used at a time, and that server may have the smallest pool.
  const sizes = servers.flatMap(({ options: pool }) => pool?.max ?? [])
  return Object.assign(
    transact,
    { autocommit: alone, classify: origin.classify, closesAbandoned: true, within: asWork },
    sizes.length > 0 && { connections: Math.min(...sizes) },
  )
}

async function openSession<Client extends PgPoolClient>(pool: PgPool<Client>): Promise<Session<Client>> {
  const client = await pool.connect()
  let lost: Error | undefined
  // The driver reports a connection that is lost between two statements by an event, which would end the process if nobody listened.
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

/** Tells whether the transaction may succeed on another server, or on the same server later. */
function isServersFault(error: unknown, phase: Phase): boolean {
  const known = named(error)
  return phase === 'lost' || isTaskError(known, 'DATABASE_UNAVAILABLE') || isTaskError(known, 'DATABASE_READ_ONLY')
}

/** Classifies an error of a statement that `work` sent by itself: such an error is the driver's, not a TaskError. */
function named(error: unknown): unknown {
  return classifyPostgresError(error) ?? error
}
