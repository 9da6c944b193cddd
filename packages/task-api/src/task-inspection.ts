import type { Execution, Outcome } from './execution.ts'
import type { Task } from './task.ts'

export interface ErrorsOptions {
  /** Only this topic. Default: the first 200 topics, by name, that have failed attempts. */
  readonly topic?: string
  /** Only attempts that have ended in the last so many milliseconds, 0 to 100 years. Default: all that are kept. */
  readonly withinMs?: number
  /** How many attempts of each topic are looked at, the latest ones, 1 to 100 000. Default 5000. */
  readonly limit?: number
}

/** Attempts that have failed in the same way. Instants are by the database's clock. */
export interface ErrorGroup {
  readonly topic: string
  readonly fingerprint: string
  /** The error of the latest attempt. */
  readonly error: string
  /** How many of the attempts that were looked at. */
  readonly count: number
  /** How many tasks of these attempts failed, or expired, by it and are still so. If none is, older attempts count too, up to a hundred. */
  readonly open: number
  /** How many of the attempts that were looked at have a task that is still to be done. With `open`, what has not healed by itself. */
  readonly pending: number
  /** The first attempt that is kept, and its release. */
  readonly first: Date
  readonly firstRelease?: string
  readonly last: Date
  /** The task of the latest attempt. */
  readonly lastSequence: number
  /** The releases of the attempts that were looked at, the latest first. */
  readonly releases: readonly string[]
}

export interface HeldOptions {
  readonly topic?: string
  readonly owner?: string
  /** How many tasks at most, 1 to 10 000. Default 100. */
  readonly limit?: number
}

/** A task that an owner holds. */
export interface HeldInfo extends Task {
  readonly owner: string
  readonly started?: Date
  readonly attempt: number
  readonly tries: number
}

export interface UpcomingOptions {
  /** How many tasks of each kind, 1 to 1000. Default 20. */
  readonly limit?: number
}

/** What a topic does next. */
export interface Upcoming {
  readonly topic: string
  /** Ready tasks, as polls would take them. In the order `shared` the identifiers take turns, and the first tasks by sequence are given. */
  readonly ready: readonly (Task & { readonly priority: number; readonly created: Date })[]
  /** Tasks that become ready by themselves, by their due times. */
  readonly due: readonly (Task & { readonly due: Date; readonly tries: number })[]
}

/** Looks at topics as an operator does. Every verb reads a bounded number of rows, locks none, and says what bounds it. */
export interface TaskInspection<Transaction, E extends Execution = 'async'> {
  /**
   * What fails, since when, and in which release: failed attempts by their fingerprints, the most frequent of each topic first.
   *
   * @throws TaskError TOPIC_UNKNOWN, ARGUMENT_INVALID
   * @example
   * for (const { error, count, firstRelease } of await tasks.errors(tx, { topic: 'invoices' })) console.log(count, error, firstRelease)
   */
  errors(transaction: Transaction, options?: ErrorsOptions): Outcome<E, readonly ErrorGroup[]>
  /** The tasks that owners hold, the longest held first. @throws TaskError ARGUMENT_INVALID */
  held(transaction: Transaction, options?: HeldOptions): Outcome<E, readonly HeldInfo[]>
  /** What a topic does next. @throws TaskError TOPIC_UNKNOWN, ARGUMENT_INVALID */
  upcoming(transaction: Transaction, topic: string, options?: UpcomingOptions): Outcome<E, Upcoming>
}
