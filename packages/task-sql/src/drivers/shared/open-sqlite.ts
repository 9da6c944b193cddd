import { checkInteger, TaskError } from '@taskstream/task-api'
import { classifyOpening } from '../../dialects/sqlite/errors.ts'

export interface OpenSqliteOptions {
  /**
   * `'full'` (default): a commit survives a power cut. `'normal'`: it survives a crash of the process, and a power cut may take
   * the last commits, never their order; several times faster.
   */
  readonly synchronous?: 'full' | 'normal'
  /**
   * How long a statement waits, blocking the event loop, while another process writes; milliseconds, 0 to a day. Default 5 000. The transactions of
   * `sqliteTransactions` do not wait so: they leave the event loop free.
   */
  readonly busyTimeoutMs?: number
}

/**
 * Opens a connection, and gives it what every one needs.
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

/** What every connection needs: readers beside one writer, and a known promise about power cuts. */
function configureSqlite(database: { exec(text: string): unknown }, options: OpenSqliteOptions): void {
  const { synchronous = 'full', busyTimeoutMs = 5_000 } = options
  checkInteger('busyTimeoutMs', busyTimeoutMs, 0, 86_400_000)
  // The time-out first: switching the journal's mode needs the lock.
  database.exec(`pragma busy_timeout = ${Math.max(busyTimeoutMs, 5_000)}`)
  database.exec('pragma journal_mode = wal')
  database.exec(`pragma synchronous = ${synchronous === 'normal' ? 'normal' : 'full'}`)
  database.exec(`pragma busy_timeout = ${busyTimeoutMs}`)
}

/** The first release of Node.js that the packages run on, as their `engines` say. */
const needed = '22.14'

/** better-sqlite3 crashes the process on earlier versions, without an error that could be caught: ask before it is loaded. */
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
