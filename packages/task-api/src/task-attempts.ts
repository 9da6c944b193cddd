import type { Execution, Outcome } from './execution.ts'
import type { TaskReason } from './task-state.ts'

/**
 * How an attempt has ended that neither succeeded nor filtered its task: `failed` for good, `retried` later, `suspended` until somebody revives the
 * task, ended by a `timeout`, or `lost` with its owner. The order is that of the stored numbers and never changes.
 */
export const attemptOutcomes = ['failed', 'retried', 'suspended', 'timeout', 'lost'] as const
export type AttemptOutcome = (typeof attemptOutcomes)[number]

/** An attempt that neither succeeded nor filtered its task. Instants are by the database's clock. */
export interface TaskAttempt {
  /** The number of the attempt, as in `HeldTask.attempt`. Numbers are missing between attempts that were handed back, snoozed or deleted. */
  readonly attempt: number
  readonly started?: Date
  readonly ended: Date
  readonly outcome: AttemptOutcome
  /** The reason that the task had afterwards: `tries` if no tries were left, `lease` if the attempt was lost. */
  readonly reason?: TaskReason
  /** The owner that held the task. */
  readonly owner?: string
  /** The name of the error with the first line of its message, or else the first line of the decision's message; at most 200 characters. */
  readonly error?: string
  /** The decision's message, such as an error with its stack; at most 4 000 characters. */
  readonly message?: string
  /** The same for errors that differ in ids and numbers only: see `errors`. */
  readonly fingerprint?: string
  /** The release of the program that made the attempt, if it was told. */
  readonly release?: string
  /** The id of the trace in which the attempt is, if it was told: 32 hexadecimal digits in OpenTelemetry. */
  readonly trace?: string
}

export interface PurgeAttemptsOptions {
  /** How long ago the attempts have ended at least; whole milliseconds, 0 to 100 years. */
  readonly olderThanMs: number
  /**
   * How many attempts at most, 1 to 100 000. Default 10 000. Call again as long as that many are reported. Attempts at one task that have ended in the
   * same millisecond go together.
   */
  readonly limit?: number
}

/**
 * The history of attempts that did not succeed. It is written by `complete` and `expire`, outlives a redrive, and goes with its task. Of one task the
 * attempts 1 to 5 and the last 15 are kept.
 */
export interface TaskAttempts<Transaction, E extends Execution = 'async'> {
  /**
   * The attempts at one task that neither succeeded nor filtered it, the oldest first. None if there is no such task.
   *
   * @param which the sequence of the task, or its external id
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * for (const { attempt, outcome, error } of await tasks.attempts(tx, 'mail', 4711)) console.log(attempt, outcome, error)
   */
  attempts(
    transaction: Transaction,
    topic: string,
    which: number | { readonly externalId: string },
  ): Outcome<E, readonly TaskAttempt[]>
  /**
   * Deletes old attempts in every topic, the oldest of each topic first. Attempts at tasks that are still failed, expired, suspended or delayed are
   * kept. A node does this by itself.
   *
   * @returns how many attempts were deleted
   * @throws TaskError ARGUMENT_INVALID
   * @example
   * while ((await transactions((tx) => tasks.purgeAttempts(tx, { olderThanMs: 86_400_000, limit: 1_000 }))) >= 1_000);
   */
  purgeAttempts(transaction: Transaction, options: PurgeAttemptsOptions): Outcome<E, number>
}
