import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { abortOf, isTaskError, TaskError } from '@taskstream/task-api'
import type { Abort, TransactionOptions, TransactionSource } from '@taskstream/task-api'
import { classifySqliteError } from '../../dialects/sqlite/errors.ts'
import { asWork, untilAtRest, untilSettled } from '../../core/under-way.ts'
import { nested } from './only-connection.ts'
import { errorOrigin } from './error-origin.ts'
import { WatchedFile } from './watched-file.ts'

export interface SqliteTransactionsOptions {
  /** How long a transaction waits to begin while other processes write, in milliseconds, before DATABASE_BUSY. Default 10 000. */
  readonly busyTimeoutMs?: number
}

const longestPauseMs = 25

export const beginning = 'begin immediate'

/** Runs one text without rows or values on a transaction's connection. */
type Run = (text: string) => unknown

/** The part of a connection to SQLite that a transaction source uses: a `Database` of better-sqlite3, or a `DatabaseSync` of node:sqlite. */
export interface SqliteDatabase {
  exec(text: string): unknown
  prepare(text: string): unknown
  /** Whether a transaction is open, as node:sqlite calls it. */
  readonly isTransaction?: boolean
  /** The same, as better-sqlite3 calls it. */
  readonly inTransaction?: boolean
}

/**
 * Transactions on one connection to SQLite, one after the other. Give the source a connection that nobody else uses, because a transaction stays open
 * across awaits. While another process writes, a transaction waits to begin without blocking the event loop, whatever the connection's own timeout.
 *
 * @throws the error of `work`, after a rollback; TaskError DATABASE_BUSY if another process keeps writing; LIFECYCLE inside another transaction of
 * this source
 * @example
 * const transactions = sqliteTransactions(await openBetterSqlite3('tasks.db'))
 * await transactions((database) => tasks.push(database, 'invoices', 'inv-1'))
 */
export function sqliteTransactions<Database extends SqliteDatabase>(
  database: Database,
  options: SqliteTransactionsOptions = {},
): TransactionSource<Database> {
  const begin = beginAtOnce(database)
  const run: Run = (text) => (text === beginning ? begin() : database.exec(text))
  const source = immediateTransactions<Database>((use) => use(database, run), options)
  return Object.defineProperty(source, 'isOpen', { value: () => isOpen(database) })
}

/** SQLite ends a transaction by itself for `or rollback` and when the disk is full, say. */
function isOpen({ isTransaction, inTransaction }: SqliteDatabase): boolean {
  return isTransaction ?? inTransaction ?? true
}

/** Begins without waiting, as the driver's wait would block the event loop. Afterwards the connection has its own timeout again. */
function beginAtOnce(database: SqliteDatabase): () => void {
  let asked: { get(): unknown } | undefined
  const file = new WatchedFile(database)
  return () => {
    // SQLite keeps the answer of a prepared pragma, but evaluates the pragma's table function each time.
    asked ??= database.prepare('select timeout from pragma_busy_timeout') as { get(): unknown }
    // The user may have changed the timeout since the last transaction.
    const { timeout } = asked.get() as { timeout: unknown }
    database.exec('pragma busy_timeout = 0')
    try {
      database.exec(beginning)
    } finally {
      database.exec(`pragma busy_timeout = ${Number(timeout)}`)
    }
    try {
      file.check()
    } catch (error) {
      database.exec('rollback')
      throw error
    }
  }
}

/** Repeats an attempt to begin while another process writes. */
type WhenFree = <Begun>(attempt: () => Begun | Promise<Begun>) => Promise<Begun>

/**
 * Transactions on one connection of any driver or library: `connect` gives the connection to a transaction until the transaction ends. A library
 * whose transactions come begun has `connect` begin them by `whenFree`; its `run` ignores the begin.
 */
export function immediateTransactions<Transaction>(
  connect: (use: (transaction: Transaction, run: Run) => Promise<void>, whenFree: WhenFree) => Promise<void>,
  options: SqliteTransactionsOptions,
): TransactionSource<Transaction> {
  const { busyTimeoutMs = 10_000 } = options
  const inside = new AsyncLocalStorage<{ open: boolean }>()
  let last: Promise<unknown> = Promise.resolve()
  /** Why the transaction whose turn it is has not begun. */
  let refused: TaskError | undefined
  const transact = <Result>(
    work: (transaction: Transaction) => Result | Promise<Result>,
    transactionOptions?: TransactionOptions,
  ): Promise<Result> => {
    const abort = abortOf(transactionOptions)
    if (inside.getStore()?.open) {
      // Each of the two transactions would wait for the other.
      return Promise.reject<Result>(nested())
    }
    // Whoever waits for one that waits itself waits for the same.
    if (abort) abort.waitsFor = () => refused ?? connectionTaken()
    const whenFree: WhenFree = (attempt) => begin(attempt, busyTimeoutMs, abort, (error) => (refused = error))
    const turn = last.then(async () => {
      let result: Result
      let failed: { readonly error: unknown } | undefined
      await connect(async (transaction, run) => {
        await whenFree(() => run(beginning))
        const state = { open: true }
        try {
          result = await inside.run(state, () => untilSettled(transaction, work))
          abort?.throwIfAborted()
          await commit(run)
        } catch (error) {
          failed = { error }
          await untilAtRest(transaction, error)
          await rollback(run)
          throw error
        } finally {
          state.open = false
        }
      }, whenFree)
      // Knex takes a rejection without an error for success.
      if (failed) throw (failed as { readonly error: unknown }).error
      return result! as Result
    })
    last = turn.catch(() => {})
    return turn
  }
  // A file has no connection that could be lost.
  const { classify } = errorOrigin(classifySqliteError, false)
  return Object.defineProperty(Object.assign(transact, { classify, within: asWork }), 'inside', {
    get: () => inside.getStore()?.open ?? false,
  })
}

/** Begins an immediate transaction. A deferred one fails at once, whatever the timeout, if it first writes after another's commit. */
async function begin<Begun>(
  attempt: () => Begun | Promise<Begun>,
  busyTimeoutMs: number,
  abort: Abort | undefined,
  onRefused: (error: TaskError | undefined) => void,
): Promise<Begun> {
  const end = performance.now() + busyTimeoutMs
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    abort?.throwIfAborted()
    try {
      const attempted = attempt()
      // There is no await after a synchronous driver: other work would run meanwhile, with the file locked.
      const begun = attempted instanceof Promise ? await attempted : attempted
      onRefused(undefined)
      return begun
    } catch (error) {
      const known = classifySqliteError(error)
      if (!isTaskError(known, 'DATABASE_BUSY')) throw known ?? error
      if (performance.now() > end) throw locked(`for ${busyTimeoutMs} ms`, { busyTimeoutMs }, error)
      onRefused(locked('for too long', {}, error))
      await delay(pauseMs * (0.5 + Math.random()))
    }
  }
}

function locked(forHowLong: string, data: Readonly<Record<string, unknown>>, cause: unknown): TaskError {
  return new TaskError(
    'DATABASE_BUSY',
    `Another process kept the SQLite file locked ${forHowLong}`,
    { shortOf: 'lock', ...data },
    { cause },
  )
}

function connectionTaken(): TaskError {
  const message =
    'A transaction of this process has kept its only connection to SQLite for too long: look for one that does not end'
  return new TaskError('DATABASE_BUSY', message, { shortOf: 'connections' })
}

/** Commits. If the commit fails, nothing was committed, and the caller rolls back. */
async function commit(run: Run): Promise<void> {
  try {
    await run('commit')
  } catch (error) {
    throw classifySqliteError(error) ?? error
  }
}

async function rollback(run: Run): Promise<void> {
  try {
    await run('rollback')
  } catch {
    // SQLite has rolled back already, or the connection is closed. The caller throws the error that led here.
  }
}
