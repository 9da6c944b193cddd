import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import { abortOf, isTaskError, TaskError } from '@taskstream/task-api'
import type { Abort, TransactionOptions, TransactionSource } from '@taskstream/task-api'
import { classifySqliteError } from '../../dialects/sqlite/errors.ts'
import { nested } from './only-connection.ts'
import { ownWord } from './own-word.ts'

export interface SqliteTransactionsOptions {
  /** How long to go on trying while other processes write, in milliseconds, before DATABASE_BUSY. Default 10 000. */
  readonly busyTimeoutMs?: number
}

const longestPauseMs = 25

export const beginning = 'begin immediate'

/** Runs one text without rows or values on a transaction's connection. */
type Run = (text: string) => unknown

/** What we need of a connection to SQLite: a `Database` of better-sqlite3, or a `DatabaseSync` of node:sqlite. */
export interface SqliteDatabase {
  exec(text: string): unknown
  prepare(text: string): unknown
}

/**
 * Transactions on one connection, one after the other: it is this source's own, because a transaction stays open across awaits.
 * While another process writes, it waits without blocking the event loop, however long the connection itself would wait.
 */
export function sqliteTransactions<Database extends SqliteDatabase>(
  database: Database,
  options: SqliteTransactionsOptions = {},
): TransactionSource<Database> {
  const begin = beginAtOnce(database)
  const run: Run = (text) => (text === beginning ? begin() : database.exec(text))
  return immediateTransactions((use) => use(database, run), options)
}

/** The driver would wait for another process with the event loop standing still. Statements of the user's own may wait as they are set to. */
function beginAtOnce(database: SqliteDatabase): () => void {
  let asked: { get(): unknown } | undefined
  return () => {
    // Of a pragma that is prepared, SQLite keeps the answer; of the same as a table it is asked each time.
    asked ??= database.prepare('select timeout from pragma_busy_timeout') as { get(): unknown }
    // The user may have changed it.
    const { timeout } = asked.get() as { timeout: unknown }
    database.exec('pragma busy_timeout = 0')
    try {
      database.exec(beginning)
    } finally {
      database.exec(`pragma busy_timeout = ${Number(timeout)}`)
    }
  }
}

/** Goes on trying while another process writes. */
type WhenFree = <Begun>(attempt: () => Begun | Promise<Begun>) => Promise<Begun>

/**
 * The same for any driver: `connect` gives each transaction the connection, for as long as it lasts. Where the connection comes with a transaction
 * that has begun, `connect` begins it by `whenFree`, and `run` has nothing to begin.
 */
export function immediateTransactions<Transaction>(
  connect: (use: (transaction: Transaction, run: Run) => Promise<void>, whenFree: WhenFree) => Promise<void>,
  options: SqliteTransactionsOptions,
): TransactionSource<Transaction> {
  const { busyTimeoutMs = 10_000 } = options
  const inside = new AsyncLocalStorage<{ open: boolean }>()
  let last: Promise<unknown> = Promise.resolve()
  const transact = <Result>(
    work: (transaction: Transaction) => Result | Promise<Result>,
    transactionOptions?: TransactionOptions,
  ): Promise<Result> => {
    const abort = abortOf(transactionOptions)
    if (inside.getStore()?.open) {
      // It would wait for the transaction that waits for it.
      return Promise.reject<Result>(nested())
    }
    const whenFree: WhenFree = (attempt) => begin(attempt, busyTimeoutMs, abort)
    const turn = last.then(async () => {
      let result: Result
      await connect(async (transaction, run) => {
        await whenFree(() => run(beginning))
        const state = { open: true }
        try {
          result = await inside.run(state, async () => work(transaction))
          await commit(run)
        } catch (error) {
          await rollback(run)
          throw error
        } finally {
          state.open = false
        }
      }, whenFree)
      return result! as Result
    })
    last = turn.catch(() => {})
    return turn
  }
  // There is no connection to lose.
  const { classify } = ownWord(classifySqliteError, false)
  return Object.defineProperty(Object.assign(transact, { classify }), 'inside', {
    get: () => inside.getStore()?.open ?? false,
  })
}

/** Immediate: a deferred transaction that comes to write after another's commit fails at once, whatever the timeout. */
async function begin<Begun>(
  attempt: () => Begun | Promise<Begun>,
  busyTimeoutMs: number,
  abort: Abort | undefined,
): Promise<Begun> {
  const end = performance.now() + busyTimeoutMs
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    abort?.throwIfAborted()
    try {
      const begun = attempt()
      // A synchronous driver is not waited for: nobody comes between, and the file is locked no longer than need be.
      return begun instanceof Promise ? await begun : begun
    } catch (error) {
      const known = classifySqliteError(error)
      if (!isTaskError(known, 'DATABASE_BUSY')) throw known ?? error
      if (performance.now() > end) {
        throw new TaskError(
          'DATABASE_BUSY',
          `Another process kept the SQLite file locked for ${busyTimeoutMs} ms`,
          { shortOf: 'lock', busyTimeoutMs },
          { cause: error },
        )
      }
      await delay(pauseMs * (0.5 + Math.random()))
    }
  }
}

/** What it fails with is not committed: the rollback that follows undoes it. */
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
    // SQLite has rolled back by itself already, or the connection is closed; what is thrown is why.
  }
}
