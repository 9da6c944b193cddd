import { TaskError } from '@taskstream/task-api'
import { sequenceBehind } from '../sequence-behind.ts'

const unreachableCodes = new Set(['ECONNREFUSED', 'ENOENT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ER_CON_COUNT_ERROR'])

const connectionCodes = new Set([
  'PROTOCOL_CONNECTION_LOST',
  'PROTOCOL_SEQUENCE_TIMEOUT',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ER_SERVER_SHUTDOWN',
  'ER_NORMAL_SHUTDOWN',
  'ER_CONNECTION_KILLED',
  'ER_QUERY_INTERRUPTED',
  'ER_CLIENT_INTERACTION_TIMEOUT',
])

/** ER_OPTION_PREVENTS_STATEMENT, ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_READ_ONLY_MODE */
const readOnlyNumbers = new Set([1290, 1792, 1836])

/** ER_NO_DB_ERROR, ER_BAD_DB_ERROR */
const missingNumbers = new Set([1046, 1049])

/** ER_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR, ER_HOST_NOT_PRIVILEGED */
const authenticationNumbers = new Set([1045, 1698, 1130])

/** ER_DBACCESS_DENIED_ERROR, ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_PROCACCESS_DENIED_ERROR */
const permissionNumbers = new Set([1044, 1142, 1143, 1227, 1370])

/** Whether a duplicate entry is one of a primary key: its numbers are drawn. */
export function isTaken(message: string): boolean {
  return /^Duplicate entry .* for key '(?:task\.)?PRIMARY'$/s.test(message)
}

/** MariaDB's and MySQL's errors that callers should tell apart. A library may have wrapped the driver's error: it is then the cause of what it throws. */
export function classifyMysqlError(error: unknown): TaskError | undefined {
  if (!(error instanceof Error) || error instanceof TaskError) return undefined
  return classify(error) ?? classifyMysqlError(error.cause)
}

function classify(error: Error): TaskError | undefined {
  const { code = '', errno = 0 } = error as { code?: string; errno?: number }
  const because = { cause: error }
  // A deadlock; a lock that was waited for too long; a snapshot that another transaction has overtaken (innodb_snapshot_isolation).
  if (errno === 1213 || errno === 1205 || errno === 1020) {
    return new TaskError(
      'TRANSACTION_CONFLICT',
      `Another transaction was in the way: roll back and run the whole transaction again (${error.message})`,
      { errno },
      because,
    )
  }
  if (readOnlyNumbers.has(errno)) {
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
  if (permissionNumbers.has(errno)) {
    return new TaskError(
      'PERMISSION_DENIED',
      `The database does not let this user do that: grant it the right, or use another user (${error.message})`,
      { errno },
      because,
    )
  }
  // ER_NO_SUCH_TABLE
  if (errno === 1146 && /task/.test(error.message)) {
    return new TaskError('SCHEMA_MISSING', 'The tables of taskstream are not in this database: run migrate', {}, because)
  }
  // ER_DUP_ENTRY: of a key that is drawn from the sequence.
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
  // https://mariadb.com/kb/en/wsrep_reject_queries/: also what a node says that has lost the majority of its cluster.
  if (errno === 1047 && error.message.includes('WSREP')) {
    return new TaskError(
      'DATABASE_UNAVAILABLE',
      `This node takes no statements, as it has no cluster: go to another (${error.message})`,
      { errno },
      because,
    )
  }
  if (unreachableCodes.has(code)) {
    return new TaskError(
      'DATABASE_UNAVAILABLE',
      `The database cannot be reached, and nothing was sent to it: does it run, and is its address right? (${error.message || code})`,
      {},
      because,
    )
  }
  if (connectionCodes.has(code)) {
    return new TaskError(
      'DATABASE_UNAVAILABLE',
      `The database went away: what the transaction wrote is gone unless its commit was under way (${error.message})`,
      {},
      because,
    )
  }
  return undefined
}
