import { TaskError } from '@taskstream/task-api'
import type { Shortage } from '@taskstream/task-api'
import { busy } from '../shared/busy.ts'
import { nameOf } from '../shared/name-of.ts'
import { columnMissing } from '../shared/column-missing.ts'
import { sequenceBehind } from '../shared/sequence-behind.ts'

/** Errors of connections that were never made. */
const unreachableCodes = new Set([
  'ORA-01033', // initialization or shutdown in progress
  'ORA-01034', // not available
  'ORA-12170', // connect timeout
  'ORA-12514', // the listener does not know the service
  'ORA-12528', // all instances block new connections
  'ORA-12541', // no listener
  'ORA-12543', // host unreachable
  'ORA-12545', // host or object does not exist
  'NJS-503', // could not be established
  'NJS-510', // timed out
  'NJS-511', // refused
  'NJS-518', // the service is not registered with the listener
  'NJS-519', // the SID is not registered with the listener
])

const connectionCodes = new Set([
  'ORA-00028', // session killed
  'ORA-01012', // not logged on
  'ORA-01089', // immediate shutdown
  'ORA-01090', // shutdown in progress
  'ORA-01092', // instance terminated
  'ORA-02396', // exceeded maximum idle time
  'ORA-03113', // end-of-file on communication channel
  'ORA-03114', // not connected
  'ORA-03135', // lost contact
  'ORA-03136', // inbound connection timed out
  'ORA-12152', // unable to send break
  'ORA-12153', // not connected
  'ORA-12537', // connection closed
  'ORA-12547', // lost contact
  'ORA-12570', // packet reader failure
  'ORA-12571', // packet writer failure
  'ORA-12606', // application timeout
  'ORA-12608', // send timeout
  'ORA-12609', // receive timeout
  'ORA-25401', // cannot continue fetches after a failover
  'ORA-25402', // transaction must roll back
  'ORA-25405', // the transaction's outcome is unknown
  'ORA-25408', // cannot safely replay call
  'ORA-25409', // failover happened during the call
  'NJS-500', // broken
  'NJS-501', // terminated unexpectedly
  'NJS-513', // told by an in-band notification
  'NJS-521', // end-of-file
  'NJS-123', // not answered in callTimeout
  'DPI-1067', // the same, in thick mode
])

const conflictCodes = new Set([
  'ORA-00060', // deadlock: the server undoes the statement, but not the transaction
  'ORA-04020', // deadlock on an object
  'ORA-08176', // consistent read failure
  'ORA-08177', // cannot serialize access
  'ORA-24761', // transaction rolled back
])

/** The shortage of the server, its listener or the pool. https://docs.oracle.com/en/error-help/db/ */
const shortages: ReadonlyMap<string, Shortage> = new Map([
  ['ORA-00054', 'lock'], // resource busy: NOWAIT, or a definition that other transactions block
  ['ORA-00051', 'lock'], // timeout while waiting for a resource
  ['ORA-02049', 'lock'], // distributed transaction waiting for lock
  ['ORA-04021', 'lock'], // timeout while waiting to lock an object
  ['ORA-30006', 'lock'], // wait for a row timed out
  ['ORA-00040', 'time'], // active time limit exceeded
  ['ORA-01013', 'time'], // cancelled
  ['ORA-01555', 'time'], // snapshot too old: it took longer than undo is kept
  ['ORA-02393', 'time'], // call limit on CPU usage
  ['ORA-00018', 'connections'], // sessions
  ['ORA-00020', 'connections'], // processes
  ['ORA-02391', 'connections'], // sessions of this user
  ['ORA-12516', 'connections'], // the listener found no handler
  ['ORA-12518', 'connections'], // the listener could not hand off the connection
  ['ORA-12519', 'connections'],
  ['ORA-12520', 'connections'],
  ['ORA-24418', 'connections'], // the pool cannot open further sessions
  ['ORA-24496', 'connections'], // none came free in the pool
  ['NJS-040', 'connections'], // none came free in queueTimeout
  ['NJS-076', 'connections'], // as many wait as queueMax allows
  ['ORA-04030', 'memory'], // of a process
  ['ORA-04031', 'memory'], // shared
  ['ORA-00055', 'resources'], // DML locks
  ['ORA-00257', 'disk'], // for the archiver
  ['ORA-01536', 'disk'], // quota
  ['ORA-01628', 'disk'], // extents of undo
  ['ORA-01650', 'disk'],
  ['ORA-01651', 'disk'],
  ['ORA-01652', 'disk'],
  ['ORA-01653', 'disk'],
  ['ORA-01654', 'disk'],
  ['ORA-01655', 'disk'],
  ['ORA-01688', 'disk'],
  ['ORA-01691', 'disk'],
  ['ORA-30036', 'disk'], // undo
])

const readOnlyCodes = new Set([
  'ORA-01456', // in a read only transaction
  'ORA-16000', // opened for read only, as a standby is
])

const authenticationCodes = new Set([
  'ORA-01005', // null password
  'ORA-01017', // invalid user name or password
  'ORA-01045', // may not create a session
  'ORA-28000', // locked
  'ORA-28001', // password expired
])

/** Errors of statements with a value that its column does not take. */
const valueCodes = new Set([
  'ORA-01400', // null
  'ORA-01438', // number too large
  'ORA-12899', // text too large
  'ORA-40478', // text in JSON too large
])

/** The `TaskError` for an error of Oracle or oracledb that callers should tell apart. It may be the cause of another error of a library. */
export function classifyOracleError(error: unknown): TaskError | undefined {
  return nameOf(error, classify)
}

function classify(error: Error): TaskError | undefined {
  // https://node-oracledb.readthedocs.io/en/latest/user_guide/exception_handling.html
  const code = String((error as { code?: unknown }).code ?? '')
  const because = { cause: error }
  if (conflictCodes.has(code)) {
    return new TaskError(
      'TRANSACTION_CONFLICT',
      `Another transaction was in the way: roll back and run the whole transaction again (${error.message})`,
      { code },
      because,
    )
  }
  const shortOf = shortages.get(code)
  if (shortOf) return busy(shortOf, error, { code })
  if (readOnlyCodes.has(code)) {
    return new TaskError(
      'DATABASE_READ_ONLY',
      `This server or transaction takes no writes: go to the primary (${error.message})`,
      {},
      because,
    )
  }
  if (authenticationCodes.has(code)) {
    return new TaskError(
      'AUTHENTICATION_FAILED',
      `The server does not let this user in: are its name and password right, and may it connect? (${error.message})`,
      { code },
      because,
    )
  }
  // Insufficient privileges.
  if (code === 'ORA-01031') {
    return new TaskError(
      'PERMISSION_DENIED',
      `The database does not let this user do that: grant it the right, or use another user (${error.message})`,
      { code },
      because,
    )
  }
  // A table, view or sequence does not exist. 19c does not name it.
  if (code === 'ORA-00942' || code === 'ORA-02289') {
    return new TaskError(
      'SCHEMA_MISSING',
      'The tables of taskstream are not in this schema, or this user may not use them: run migrate',
      {},
      because,
    )
  }
  if (code === 'ORA-00904') return columnMissing(error)
  if (code === 'ORA-00001' && /\bTASK_KEY\b/.test(error.message)) return sequenceBehind(error)
  if (valueCodes.has(code)) {
    return new TaskError('ARGUMENT_INVALID', `A value is not one that its column takes (${error.message})`, { code }, because)
  }
  // Invalid or closed connection; pool closing, closed.
  if (code === 'NJS-003' || code === 'NJS-064' || code === 'NJS-065' || code === 'DPI-1010') {
    return new TaskError('TRANSACTION_CLOSED', 'The connection of this transaction is closed', {}, because)
  }
  if (unreachableCodes.has(code)) {
    return new TaskError(
      'DATABASE_UNAVAILABLE',
      `The database cannot be reached, and nothing was sent to it: does it run, and is its address right? (${error.message})`,
      {},
      because,
    )
  }
  if (connectionCodes.has(code) || code === 'DPI-1080') {
    return new TaskError(
      'DATABASE_UNAVAILABLE',
      `The database went away: what the transaction wrote is gone unless its commit was under way (${error.message})`,
      {},
      because,
    )
  }
  return undefined
}
