import type { Execution, Outcome } from './execution.ts'
import type { FilterState, TaskFilter } from './task-filter.ts'
import type { TopicOptions } from './task-polling.ts'
import type { TaskInfo } from './task.ts'
import type { TaskResult } from './task-state.ts'

export interface PageOptions extends TaskFilter {
  /** Only tasks with a greater sequence, ascending. Default: from the first. */
  readonly after?: number
  /** Only tasks with a smaller sequence, descending. Not together with `after`. */
  readonly before?: number
  /** At most so many, 0 to 100 000. Default 100. */
  readonly size?: number
}

export interface CountOptions extends TaskFilter {
  /** Only this topic. Default: every known one. */
  readonly topic?: string
  /** Only the latest task of each identifier, of those that meet the filter; `states` choose among these. Default false. */
  readonly recent?: boolean
}

/** How many tasks are in a state, and the greatest sequence among them. */
export interface TaskCount {
  readonly count: number
  readonly bound: number
}

export interface OverviewOptions {
  /** Counts no further than this in any topic and state, 1 to 1 000 000. Default 1000. */
  readonly limit?: number
}

/** A topic at a glance. A count that has reached the limit means: that many or more. */
export interface TopicOverview extends Required<TopicOptions> {
  readonly topic: string
  readonly ready: number
  readonly active: number
  /** Suspended until they are due: pushed with a delay, or waiting for a retry. */
  readonly delayed: number
  /** How long the longest-waiting ready task has been in the topic, by the database's clock; none when none is ready. */
  readonly oldestReadyMs?: number
}

export interface ResultsOptions {
  /** Completed at or after this instant. */
  readonly from?: Date
  /** Completed at or before this instant. */
  readonly to?: Date
}

export interface PurgeOptions extends TaskFilter {
  /**
   * In one of these states. Default: failed, suspended, filtered, succeeded, recreated and redundant. What is still to be done is purged by
   * its own name only: `delayed` (never meant by `suspended`), `ready`, `expired`, `active`.
   */
  readonly states?: readonly FilterState[]
  /** Only tasks that ended, or were pushed if they never did, so many milliseconds ago by the database's clock; 0 to 100 years. */
  readonly olderThanMs?: number
  /** At most so many tasks, 1 to 100 000. Default 10 000: call again while as many are reported. */
  readonly limit?: number
}

export interface ResolveOptions {
  /** The last sequence at or before the instant, instead of the first at or after it. Default false. */
  readonly preceding?: boolean
}

/** What `repair` found wrong, and has made right. */
export interface Repair {
  /** Topics that were looked into. */
  readonly topics: number
  /** Tasks of which something derived was wrong. */
  readonly corrected: number
  /** Of these, ready tasks that no poll would have found. */
  readonly listed: number
  /** Identifiers under a condition whose next task no poll would have looked for. */
  readonly noted: number
  /** Active tasks that expiry would not have found, had their owner died. */
  readonly held: number
  /** Tasks that others were working on, and of which something is wrong still: call again. */
  readonly left: number
  /** Whether new tasks were numbered after those that are there all along (`ahead`), or are so again (`moved`). */
  readonly sequence: 'ahead' | 'moved'
}

/** Topics and their tasks: making, looking, repairing, cleaning. */
export interface TaskCatalog<Transaction, E extends Execution = 'async'> {
  /**
   * Makes a topic known. Tasks can be pushed to known topics only. Without options, a topic that is there stays as it is.
   * @returns whether it is new
   * @throws TaskError TOPIC_DIFFERENT or TOPIC_NOT_KEYED if it is there with other options: a topic keeps them until it is destroyed
   * @example
   * await tasks.initialize(tx, 'accounts', { condition: 'singular-by-identifier' })
   */
  initialize(transaction: Transaction, topic: string, options?: TopicOptions): Outcome<E, boolean>
  /** Every known topic, in alphabetical order. */
  topics(transaction: Transaction): Outcome<E, string[]>
  /**
   * Deletes a topic with all of its tasks, active and delayed ones too. A push that is under way and commits later leaves its tasks to the topic
   * that is made anew under this name: stop producers first, or call `repair` then.
   *
   * @returns whether it was there
   */
  destroy(transaction: Transaction, topic: string): Outcome<E, boolean>
  /** Renews the statistics that the database plans with. @throws TaskError PERMISSION_DENIED on PostgreSQL, unless the user owns the tables or may maintain them */
  refresh(transaction: Transaction): Outcome<E, void>
  /**
   * Has the server end each further statement of this transaction that takes longer, in milliseconds, 1 to a day, where it can and the session has
   * no limit of its own: on PostgreSQL. Elsewhere it does nothing.
   *
   * @throws TaskError ARGUMENT_INVALID
   */
  limitStatements(transaction: Transaction, timeoutMs: number): Outcome<E, void>
  /**
   * Makes anew what is derived from the tasks themselves, after rows came to be otherwise than through the verbs: a restored backup, a
   * promoted logical replica, rows put back by hand. Every process forgets what it has learned of the topic by polling. Changes nothing
   * else, and nothing that is right; may run while others work, and waits for none of their tasks. Reads every task of the topic, or of all
   * topics where none is given: some seconds for a million. Wants READ COMMITTED, and what was put back committed or in this transaction.
   * Sleeping nodes find what became ready at their next poll, at most `idleMs` later.
   *
   * @throws TaskError TOPIC_UNKNOWN, PERMISSION_DENIED if the sequence is behind and this user may not move it
   * @example
   * const { listed, held } = await tasks.repair(tx)
   */
  repair(transaction: Transaction, topic?: string): Outcome<E, Repair>

  /** The task of that very sequence, or of that external id, if it exists. @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN */
  task(transaction: Transaction, topic: string, task: number | { readonly externalId: string }): Outcome<E, TaskInfo | undefined>
  /**
   * Tasks of a topic in the order of their sequences, page by page. Without a filter it reads no more than it returns. With one it reads the
   * topic until it has found enough: `from`, `to`, `after` and `before` bound that. On SQLite the event loop stands still meanwhile.
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   */
  page(transaction: Transaction, topic: string, options?: PageOptions): Outcome<E, TaskInfo[]>
  /** Every topic at a glance. Reads at most `limit` rows for each count, never history: for dashboards. */
  overview(transaction: Transaction, options?: OverviewOptions): Outcome<E, TopicOverview[]>
  /**
   * Exact counts by topic and state, delayed tasks apart from suspended ones; every known topic is there. Reads every task of the topic, or of
   * all, from `from` to `to`: for people, not for loops. On SQLite the event loop stands still meanwhile.
   * @throws TaskError ARGUMENT_INVALID; TOPIC_UNKNOWN if `topic` is given, and was never initialised
   */
  count(transaction: Transaction, options?: CountOptions): Outcome<E, ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>
  /**
   * How many tasks ended with which result, by topic; every known topic is there. A try that will be made again is none. Reads every task of
   * every topic, whatever the instants: for people, not for loops. On SQLite the event loop stands still meanwhile.
   * @throws TaskError ARGUMENT_INVALID
   */
  results(transaction: Transaction, options?: ResultsOptions): Outcome<E, ReadonlyMap<string, ReadonlyMap<TaskResult, number>>>
  /**
   * The first sequence, over all topics, of what was pushed at or after an instant: `Number.MAX_SAFE_INTEGER` when there is none;
   * or the last of what was pushed at or before it: 0 when there is none. For the bounds of `page`, `count` and `purge`. It may read every task
   * of every topic. On SQLite the event loop stands still meanwhile.
   * @throws TaskError ARGUMENT_INVALID
   */
  resolve(transaction: Transaction, instant: Date, options?: ResolveOptions): Outcome<E, number>

  /**
   * Deletes ended tasks of a topic, the first by sequence: failed to redundant, or those in `states`. A task that waits for its due time or
   * for a retry is deleted only if `states` names `delayed`. What others are working on is passed over. Small portions keep out of
   * everybody's way. It reads the topic from `from` on, until it has found enough.
   * @returns how many
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * await tasks.purge(tx, 'reminders', { states: ['delayed'], identifier: 'user-7' })   // what has not come yet
   * while ((await commit((tx) => tasks.purge(tx, 'invoices', { states: ['succeeded'], completedBefore: lastYear }))) > 0);
   */
  purge(transaction: Transaction, topic: string, options?: PurgeOptions): Outcome<E, number>
  /** Deletes every task of a topic, active and delayed ones too; the topic stays. @returns how many. @throws TaskError TOPIC_UNKNOWN */
  purgeAll(transaction: Transaction, topic: string): Outcome<E, number>
}
