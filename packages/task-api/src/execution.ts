import type { TaskError } from './task-error.ts'

/** How the verbs of a repository return: promises (`'async'`) or values (`'sync'`), as its driver does. */
export type Execution = 'async' | 'sync'

/** The return type of a verb: `Result` itself on a synchronous driver, otherwise a promise of `Result`. Both can be awaited. */
export type Outcome<E extends Execution, Result> = E extends 'sync' ? Result : Promise<Result>

/** Options of one transaction. */
export interface TransactionOptions {
  /**
   * Gives the transaction up when the signal is aborted, even if a statement is under way: the connection is closed and not used again. Uncommitted
   * writes are rolled back. A source that cannot close a connection does what it can, and the caller does not wait for it.
   */
  readonly signal?: AbortSignal
}

/**
 * Runs `work` in a transaction of its own, which commits when `work` returns and rolls back when `work` throws. Every driver has a function that
 * makes a source, and nodes open transactions only by their source.
 *
 * A source may run `work` again if the transaction certainly left nothing behind, as after a deadlock. If `work` throws TRANSACTION_ABANDONED,
 * something may still use the transaction, so its connection is closed and not used again.
 *
 * @example
 * const transactions = pgTransactions(pool)
 * const pushed = await transactions((client) => tasks.push(client, 'invoices', 'inv-1'))
 */
export interface TransactionSource<Transaction> {
  <Result>(work: (transaction: Transaction) => Result | Promise<Result>, options?: TransactionOptions): Promise<Result>
  /** How many transactions can be open at a time. Undefined if there is no limit, or it is not known. */
  readonly connections?: number
  /** Whether the caller is inside a transaction on the only connection of this source, so that another transaction would wait for itself. */
  readonly inside?: boolean
  /**
   * Runs `work` without a transaction, so that each statement commits by itself. For work of a single statement, this saves two round trips. A source
   * runs `work` again only if certainly nothing was committed. If a source has no `autocommit`, use a transaction.
   */
  readonly autocommit?: <Result>(
    work: (connection: Transaction) => Result | Promise<Result>,
    options?: TransactionOptions,
  ) => Promise<Result>
  /**
   * Runs a part of a transaction's work that has begun elsewhere, such as a handler's function. What it calls belongs to the transaction, and is refused
   * with TRANSACTION_CLOSED once that is over.
   */
  readonly within?: <Result>(transaction: unknown, part: () => Result) => Result
  /**
   * Classifies an error that `work` threw, if the error comes from this source's database. The server's code decides on DATABASE_BUSY,
   * TRANSACTION_CONFLICT and DATABASE_READ_ONLY; DATABASE_UNAVAILABLE means that the transaction's own connection was lost. Returns undefined for
   * every other error, such as the refused connection of another service. A source that cannot classify errors has no such function.
   */
  readonly classify?: (error: unknown) => TaskError | undefined
  /**
   * Whether the source closes the connection of a transaction whose work throws TRANSACTION_ABANDONED, so that nothing of that work runs outside of it.
   * Libraries that keep their connections to themselves cannot.
   */
  readonly closesAbandoned?: boolean
  /**
   * Whether the transaction under way on the only connection of this source is still open. The database may have rolled it back by itself, and the
   * user's code may have ignored the error: then each further statement would be committed alone. A source that cannot tell has no such function.
   */
  readonly isOpen?: () => boolean
}
