import type { TaskError } from './task-error.ts'

/** How a repository answers: `'async'` with promises, `'sync'` with values, as the driver below it does. */
export type Execution = 'async' | 'sync'

/** What a verb returns: `Result` itself on a synchronous driver, a promise of it otherwise. Awaiting either is right. */
export type Outcome<E extends Execution, Result> = E extends 'sync' ? Result : Promise<Result>

/** How a transaction is run. */
export interface TransactionOptions {
  /**
   * Gives the transaction up once it is aborted, whatever it waits for: its connection is closed as it is, and not used again. What was not
   * committed is rolled back then. A source that cannot close a connection does what it can; who gave up does not wait for it.
   */
  readonly signal?: AbortSignal
}

/**
 * Runs `work` in a transaction of its own: committed when `work` returns, rolled back when it throws.
 * A source may run `work` again after a transaction that certainly left nothing, such as one that lost a deadlock. When `work` throws
 * TRANSACTION_ABANDONED, something may still be using the transaction: its connection is closed and not used again.
 * One line per driver; the processor opens transactions in no other way.
 */
export interface TransactionSource<Transaction> {
  <Result>(work: (transaction: Transaction) => Result | Promise<Result>, options?: TransactionOptions): Promise<Result>
  /** How many transactions can be open at a time, where that is bounded and known. */
  readonly connections?: number
  /** Whether the caller is inside a transaction of this source that another would have to wait for, on a single connection. */
  readonly inside?: boolean
  /**
   * Runs `work` without a transaction around it: each of its statements is committed on its own, for what is a single statement anyway. It
   * spares the database two round trips. Runs `work` again only where nothing of it can have been committed. Absent where a source cannot: a
   * transaction does as well.
   */
  readonly autocommit?: <Result>(
    work: (connection: Transaction) => Result | Promise<Result>,
    options?: TransactionOptions,
  ) => Promise<Result>
  /**
   * Names an error that `work` threw, where it is the word of this source's database: DATABASE_BUSY, TRANSACTION_CONFLICT and DATABASE_READ_ONLY by
   * the server's code, DATABASE_UNAVAILABLE only if the transaction's own connection was lost. Nothing where the error is the work's own, such
   * as a connection that another service refused. Absent where a source cannot tell.
   */
  readonly classify?: (error: unknown) => TaskError | undefined
}
