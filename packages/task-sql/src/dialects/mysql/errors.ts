import { TaskError } from '@taskstream/task-api'
import type { Shortage } from '@taskstream/task-api'
import { busy } from '../shared/busy.ts'
import { otherServer } from './other-server.ts'
import { permissionDenied } from './rights.ts'
import { nameOf } from '../shared/name-of.ts'
import { columnMissing } from '../shared/column-missing.ts'
import { indexMissing } from '../shared/index-missing.ts'
import { sequenceBehind } from '../shared/sequence-behind.ts'

const unreachableCodes = new Set(['ECONNREFUSED', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'])

const connectionCodes = new Set([
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ER_SERVER_SHUTDOWN',
  'ER_NORMAL_SHUTDOWN',
  'ER_CONNECTION_KILLED',
  'ER_CLIENT_INTERACTION_TIMEOUT',
])

/** A connection that the server has given up. */
const connectionNumbers = new Set([
  1152, // aborting connection
  1158, // read error
  1159, // read timeout
  1160, // write error
  1161, // write timeout
  1184, // aborting new connection
])

/** ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_READ_ONLY_MODE */
const readOnlyNumbers = new Set([1792, 1836])

/** ER_OPTION_PREVENTS_STATEMENT. It occurs for options other than `read_only` too. */
const optionPrevents = 1290

/** The shortage of the server. https://mariadb.com/kb/en/mariadb-error-code-reference/ */
const shortages: ReadonlyMap<number, Shortage> = new Map([
  [1021, 'disk'],
  [1114, 'disk'], // a table, or a temporary one, is full
  [1037, 'memory'],
  [1038, 'memory'], // to sort
  [1041, 'memory'],
  [1206, 'memory'], // for locks
  [1135, 'resources'], // no new thread
  [1040, 'connections'],
  [1203, 'connections'], // of this user
  [1226, 'connections'], // of this user, or what it may do in an hour
  [45028, 'connections'], // of the pool of MariaDB's own connector
  [1205, 'lock'],
  [3572, 'lock'], // MySQL's NOWAIT
  [1317, 'time'], // KILL QUERY
  [1969, 'time'], // max_statement_time
  [3024, 'time'], // MySQL's max_execution_time
])

/** ER_GET_ERRNO, ER_ERROR_ON_WRITE and EE_WRITE. Their messages say whether the disk is full (ENOSPC). */
const writeNumbers = new Set([3, 1026, 1030])
const noSpace = /error 28\b|errcode: 28\b|errno: 28\b|no space left/i

/** The messages of mysql2 and Knex when no connection of the pool became free in time. */
const exhausted = /^No connections available|^Queue limit reached|Timeout acquiring a connection/

/** A text that its column's character set cannot hold: ER_INVALID_CHARACTER_STRING, ER_TRUNCATED_WRONG_VALUE_FOR_FIELD, ER_IMPOSSIBLE_STRING_CONVERSION. */
const encodingNumbers = new Set([1300, 1366, 3988])

/** ER_NO_DB_ERROR, ER_BAD_DB_ERROR */
const missingNumbers = new Set([1046, 1049])

/** ER_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR, ER_HOST_NOT_PRIVILEGED */
const authenticationNumbers = new Set([1045, 1698, 1130])

/** ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_PROCACCESS_DENIED_ERROR */
const permissionNumbers = new Set([1044, 1142, 1143, 1227, 1370])

/** Whether a duplicate entry is one of a primary key, which has a drawn number. */
export function isTaken(message: string): boolean {
  return /^Duplicate entry .* for key '(?:task\.)?PRIMARY'$/s.test(message)
}

/** The `TaskError` for an error of MariaDB or MySQL that callers should tell apart. It may be the cause of another error of a library. */
export function classifyMysqlError(error: unknown): TaskError | undefined {
  return nameOf(error, classify)
}

function classify(error: Error): TaskError | undefined {
  const { code = '', errno = 0 } = error as { code?: string; errno?: number }
  const because = { cause: error }
  // 1213 is a deadlock. 1020 says that another transaction has changed a row since the snapshot (innodb_snapshot_isolation).
  if (errno === 1213 || errno === 1020) {
    return new TaskError(
      'TRANSACTION_CONFLICT',
      `Another transaction was in the way: roll back and run the whole transaction again (${error.message})`,
      { errno },
      because,
    )
  }
  const shortOf = exhausted.test(error.message) ? 'connections' : (shortages.get(errno) ?? fullDisk(errno, error.message))
  // A pool without connections could not make any: the database cannot be reached, so it is not merely busy.
  const none = shortOf === 'connections' && error.message.includes('active=0 idle=0')
  if (shortOf && !none) return busy(shortOf, error, errno > 0 ? { errno } : {})
  if (encodingNumbers.has(errno)) {
    return new TaskError(
      'ARGUMENT_INVALID',
      `A text holds a character that its column cannot keep: its character set is not utf8mb4 (${error.message})`,
      { errno },
      because,
    )
  }
  if (readOnlyNumbers.has(errno) || (errno === optionPrevents && /read.only/i.test(error.message))) {
    return new TaskError(
      'DATABASE_READ_ONLY',
      `This server or transaction takes no writes: go to the primary (${error.message})`,
      {},
      because,
    )
  }
  if (missingNumbers.has(errno)) {
    return new TaskError(
      'DATABASE_MISSING',
      `The server has no such database, or none was named: create it, or is its name right? (${error.message})`,
      { errno },
      because,
    )
  }
  if (authenticationNumbers.has(errno)) {
    return new TaskError(
      'AUTHENTICATION_FAILED',
      `The server does not let this user in: are its name and password right, and may it connect from here? (${error.message})`,
      { errno },
      because,
    )
  }
  if (permissionNumbers.has(errno)) return permissionDenied(error, errno)
  // ER_UNKNOWN_SYSTEM_VARIABLE: only MariaDB has it.
  if (errno === 1193 && error.message.includes('join_cache_level')) return otherServer('MySQL', 'mysql', error)
  // ER_KEY_DOES_NOT_EXITS
  if (errno === 1176 && /task/.test(error.message)) return indexMissing(error)
  // ER_NO_SUCH_TABLE
  if (errno === 1146 && /task|token_holder|health_check/.test(error.message)) {
    return new TaskError('SCHEMA_MISSING', 'The tables of taskstream are not in this database: run migrate', {}, because)
  }
  // ER_BAD_FIELD_ERROR
  if (errno === 1054) return columnMissing(error)
  // ER_DUP_ENTRY, for a number that was drawn from the sequence.
  if (errno === 1062 && isTaken(error.message)) return sequenceBehind(error)
  if (errno === 1153) {
    return new TaskError(
      'ARGUMENT_INVALID',
      'The tasks are more than the server takes in one message: push fewer at a time, or raise its max_allowed_packet',
      { errno },
      because,
    )
  }
  if (/closed state|Pool is closed|Connection is closed|driver has already been destroyed/i.test(error.message)) {
    return new TaskError('TRANSACTION_CLOSED', 'The connection of this transaction is closed', {}, because)
  }
  // A node of a cluster says this if it has lost the majority, or by https://mariadb.com/kb/en/wsrep_reject_queries/.
  if (errno === 1047 && error.message.includes('WSREP')) {
    return new TaskError(
      'DATABASE_UNAVAILABLE',
      `This node takes no statements, as it has no cluster: go to another (${error.message})`,
      { errno },
      because,
    )
  }
  if (unreachableCodes.has(code) || none) {
    return new TaskError(
      'DATABASE_UNAVAILABLE',
      `The database cannot be reached, and nothing was sent to it: does it run, and is its address right? (${error.message || code})`,
      {},
      because,
    )
  }
  if (connectionCodes.has(code) || connectionNumbers.has(errno)) {
    return new TaskError(
      'DATABASE_UNAVAILABLE',
      `The database went away: what the transaction wrote is gone unless its commit was under way (${error.message})`,
      {},
      because,
    )
  }
  return undefined
}

function fullDisk(errno: number, message: string): Shortage | undefined {
  return writeNumbers.has(errno) && noSpace.test(message) ? 'disk' : undefined
}
