import { TaskError } from '@taskstream/task-api'
import type { Shortage } from '@taskstream/task-api'
import { busy } from '../shared/busy.ts'
import { nameOf } from '../shared/name-of.ts'
import { permissionDenied } from './rights.ts'
import { columnMissing } from '../shared/column-missing.ts'
import { sequenceBehind } from '../shared/sequence-behind.ts'

/** Errors of connections that were never made. */
const unreachableCodes = new Set([
  '57P03', // cannot connect now
  'ECONNREFUSED',
  'ENOENT', // a Unix socket that is gone
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'CONNECT_TIMEOUT', // postgres.js
])

const connectionCodes = new Set([
  '25P03', // the transaction was idle for too long
  '25P04', // the transaction took too long
  '40003', // the outcome of a statement is unknown
  '57P01', // admin shutdown
  '57P02', // crash shutdown
  '57P04', // the database was dropped
  '57P05', // the session was idle for too long
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  // postgres.js
  'CONNECTION_CLOSED',
  'CONNECTION_DESTROYED',
])

/**
 * The shortage of the server, by SQLSTATE. 53400 is left out: it is a configured limit for one statement (temp_file_limit), which will be
 * the same at the next attempt.
 */
const shortages: ReadonlyMap<string, Shortage> = new Map([
  ['53000', 'resources'], // too many open files, say
  ['53100', 'disk'],
  ['53200', 'memory'],
  ['53300', 'connections'],
  ['55P03', 'lock'], // lock_timeout, or NOWAIT
  ['57000', 'time'], // an operator has intervened
  ['57014', 'time'], // statement_timeout, or cancelled
  ['58000', 'resources'], // system error
  ['58030', 'resources'], // input or output
])

/** The messages of pg-pool and Knex when no client of the pool became free in time. */
const exhausted = /^timeout exceeded when trying to connect|Timeout acquiring a connection/

/** Errors of texts with a character that the database's encoding does not have, or with invalid bytes. */
const encodingCodes = new Set(['22P05', '22021'])

/** A prepared statement is missing, or its name is taken: another client has used the same server connection. */
const forgottenCodes: ReadonlySet<string> = new Set(['26000', '42P05'])

/** The functions of the server that say something under a code which also means other things. Their names are the same in every language. */
const routines = {
  /** The type of a column was changed, and the statement was prepared before. https://www.postgresql.org/docs/18/sql-prepare.html */
  stalePlan: 'RevalidateCachedQuery',
  /** https://www.postgresql.org/docs/18/sql-notify.html: a queue that is full fails transactions as they commit. */
  notifyQueueFull: 'PreCommit_Notify',
}

/** Whether what was prepared on the connection is of no use any more. */
export function isForgotten(error: unknown): boolean {
  const { code, routine } = error as { readonly code?: unknown; readonly routine?: unknown }
  return forgottenCodes.has(String(code)) || (code === '0A000' && routine === routines.stalePlan)
}

function isQueueFull(error: Error): boolean {
  const { code, routine } = error as { readonly code?: unknown; readonly routine?: unknown }
  return code === '54000' && routine === routines.notifyQueueFull
}

/** The messages of pg and Kysely when the pool or client had ended before, so that nothing was sent. */
const ended = /^Client was closed|^Client has already been|^Cannot use a pool after|^driver has already been destroyed/

/**
 * The `TaskError` for an error of PostgreSQL that callers should tell apart. It is found by the SQLSTATE, or else by the driver's message.
 * The error may be the cause of another one that a library throws.
 */
export function classifyPostgresError(error: unknown, schema?: string): TaskError | undefined {
  return nameOf(error, (one) => classify(one, schema))
}

function classify(error: Error, schema?: string): TaskError | undefined {
  const code = String((error as { code?: unknown }).code ?? '')
  if (code === '25P02' || error.name === 'AbortedTransactionError') {
    return new TaskError(
      'TRANSACTION_CLOSED',
      'The transaction was aborted by an earlier error: roll it back',
      {},
      { cause: error },
    )
  }
  if (code === '40000' || code === '40001' || code === '40P01') {
    return new TaskError(
      'TRANSACTION_CONFLICT',
      `Another transaction was in the way: roll back and run the whole transaction again (${error.message})`,
      { sqlState: code },
      { cause: error },
    )
  }
  if (isForgotten(error)) {
    return new TaskError(
      'TRANSACTION_CONFLICT',
      `The connection lost the statements that were prepared on it: roll back and run the whole transaction again (${error.message})`,
      { sqlState: code },
      { cause: error },
    )
  }
  if (code === '3D000') {
    return new TaskError(
      'DATABASE_MISSING',
      `The server has no such database: create it, or is its name right? (${error.message})`,
      {},
      { cause: error },
    )
  }
  // Class 28 is invalid authorization. If the server asks for a password and none was given, pg throws an error without a code.
  if (code.startsWith('28') || error.message.startsWith('SASL: ')) {
    return new TaskError(
      'AUTHENTICATION_FAILED',
      `The server does not let this user in: are its name and password right, and may it connect from here? (${error.message})`,
      {},
      { cause: error },
    )
  }
  if (code === '42501') return permissionDenied(error, schema)
  if (code === '25006') {
    return new TaskError(
      'DATABASE_READ_ONLY',
      `This server or transaction takes no writes: go to the primary (${error.message})`,
      {},
      { cause: error },
    )
  }
  const shortOf = exhausted.test(error.message) ? 'connections' : isQueueFull(error) ? 'resources' : shortages.get(code)
  if (shortOf) return busy(shortOf, error, code ? { sqlState: code } : {})
  if (encodingCodes.has(code)) {
    return new TaskError(
      'ARGUMENT_INVALID',
      `A text holds a character that this database cannot keep: its encoding is not UTF8 (${error.message})`,
      { sqlState: code },
      { cause: error },
    )
  }
  if (code === '55000' && error.message.startsWith('the partition of this topic was being detached')) {
    return new TaskError(
      'PARTITION_DETACHING',
      'The partition of this topic was being detached and that was interrupted: finish it with detachPartition',
      {},
      { cause: error },
    )
  }
  // The name of the key is the same in every language. A topic's partition has a key of its own.
  if (code === '23505' && /\btask(_p_[0-9a-f]{32}|_turn)?_pkey\b/.test(error.message)) return sequenceBehind(error)
  if (code === '42P01' || code === '3F000') {
    return new TaskError('SCHEMA_MISSING', 'The tables of taskstream are not in this database: run migrate', {}, { cause: error })
  }
  // Of a function that later releases call with more arguments, PostgreSQL says that there is none.
  if (code === '42703' || code === '42883') return columnMissing(error)
  if (code === 'CONNECTION_ENDED' || ended.test(error.message)) {
    return new TaskError('TRANSACTION_CLOSED', 'The connection of this transaction is closed', {}, { cause: error })
  }
  // The last is pg-pool's word for a server that has taken the connection and said nothing.
  if (unreachableCodes.has(code) || error.message === 'Connection terminated due to connection timeout') {
    return new TaskError(
      'DATABASE_UNAVAILABLE',
      `The database cannot be reached, and nothing was sent to it: does it run, and is its address right? (${error.message || code})`,
      {},
      { cause: error },
    )
  }
  if (
    connectionCodes.has(code) ||
    code.startsWith('08') ||
    // "Query read timeout" means that a statement was not answered within pg's query_timeout.
    /^Connection terminated|not queryable|timeout expired|^Query read timeout/.test(error.message)
  ) {
    return new TaskError(
      'DATABASE_UNAVAILABLE',
      `The database went away: what the transaction wrote is gone unless its commit was under way (${error.message})`,
      {},
      { cause: error },
    )
  }
  return undefined
}
