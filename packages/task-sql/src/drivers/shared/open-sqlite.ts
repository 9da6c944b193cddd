import { checkInteger, TaskError } from '@taskstream/task-api'
import { classifyOpening } from '../../dialects/sqlite/errors.ts'

export interface OpenSqliteOptions {
  /**
   * What a commit survives. With `'full'`, the default, a commit survives a power cut. With `'normal'`, a commit survives a crash of the process, but
   * a power cut may undo the last commits, never an earlier one alone. `'normal'` is several times faster.
   */
  readonly synchronous?: 'full' | 'normal'
  /**
   * How long a statement waits while another process writes, in milliseconds, 0 to a day. Default 5 000. This wait blocks the event loop; transactions
   * of `sqliteTransactions` wait without blocking it.
   */
  readonly busyTimeoutMs?: number
  /** `'wal'`, the default, gives the file a write-ahead log, which it keeps. `'kept'` leaves it as it is: for whoever only looks, as it may be somebody else's. */
  readonly journal?: 'wal' | 'kept'
}

/**
 * Opens a connection and configures it.
 *
 * @throws TaskError DATABASE_MISSING, DATABASE_READ_ONLY, DATABASE_BUSY, ARGUMENT_INVALID
 */
export function openSqlite<Database extends { exec(text: string): unknown; close(): unknown }>(
  connect: () => Database,
  options: OpenSqliteOptions,
): Database {
  let database: Database | undefined
  try {
    database = connect()
    configureSqlite(database, options)
    return database
  } catch (error) {
    database?.close()
    throw classifyOpening(error) ?? error
  }
}

/**
 * Sets a write-ahead log, which lets readers work beside a writer, and a known durability. `openNodeSqlite` and `openBetterSqlite3` do this to what
 * they open.
 *
 * @throws TaskError ARGUMENT_INVALID, DATABASE_MISSING, DATABASE_READ_ONLY, DATABASE_BUSY
 */
export function configureSqlite(database: { exec(text: string): unknown }, options: OpenSqliteOptions = {}): void {
  const { synchronous = 'full', busyTimeoutMs = 5_000, journal = 'wal' } = options
  checkInteger('busyTimeoutMs', busyTimeoutMs, 0, 86_400_000)
  try {
    configure(database, synchronous, busyTimeoutMs, journal)
  } catch (error) {
    throw classifyOpening(error) ?? error
  }
}

function configure(
  database: { exec(text: string): unknown },
  synchronous: OpenSqliteOptions['synchronous'],
  busyTimeoutMs: number,
  journal: OpenSqliteOptions['journal'],
): void {
  // The timeout is set first, as switching the journal's mode waits for a lock.
  database.exec(`pragma busy_timeout = ${Math.max(busyTimeoutMs, 5_000)}`)
  // Either one finds out whether the file can be read at all.
  database.exec(journal === 'wal' ? 'pragma journal_mode = wal' : 'pragma schema_version')
  database.exec(`pragma synchronous = ${synchronous === 'normal' ? 'normal' : 'full'}`)
  database.exec(`pragma busy_timeout = ${busyTimeoutMs}`)
}

/** The first release of Node.js that the packages run on: the same as `engines` in package.json. */
const needed = '22.14'

/** Refuses a Node.js that is too old, before the driver is loaded: better-sqlite3 crashes the process there, without an error to catch. */
export function checkNode(driver: 'better-sqlite3' | 'node:sqlite'): void {
  const found = process.versions.node
  const [major = 0, minor = 0] = found.split('.').map(Number)
  const [neededMajor = 0, neededMinor = 0] = needed.split('.').map(Number)
  if (major < neededMajor || (major === neededMajor && minor < neededMinor)) {
    throw new TaskError(
      'RUNTIME_UNSUPPORTED',
      `${driver} needs Node.js ${needed} or later, and this is ${found}: upgrade Node.js`,
      { found, needed },
    )
  }
}
