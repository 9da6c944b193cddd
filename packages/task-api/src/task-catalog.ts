import type { Execution, Outcome } from './execution.ts'
import type { FilterState, TaskFilter } from './task-filter.ts'
import type { TopicOptions } from './task-polling.ts'
import type { TaskReference } from './task-diagnosis.ts'
import type { TaskInfo } from './task.ts'
import type { TaskResult } from './task-state.ts'

export interface PageOptions extends TaskFilter {
  /** Only tasks with a greater sequence, in ascending order. Default: all, from the first. */
  readonly after?: number
  /** Only tasks with a smaller sequence, in descending order. Not together with `after`. */
  readonly before?: number
  /** How many tasks at most, 0 to 100 000. Default 100. */
  readonly size?: number
}

export interface CountOptions extends TaskFilter {
  /** Only this topic. Default: every known topic. */
  readonly topic?: string
  /**
   * Whether only the latest task of each identifier counts. The filter applies before, but `states` choose among these latest tasks. Default false.
   */
  readonly recent?: boolean
  /** Whether tasks are left out that others need which have not ended, as a purge leaves them out. Default false. */
  readonly unneeded?: boolean
}

/** The tasks of one topic in one state. */
export interface TaskCount {
  /** How many there are. */
  readonly count: number
  /** The greatest sequence among them. */
  readonly bound: number
}

export interface OverviewOptions {
  /** How far to count in each topic and state, 1 to 1 000 000. Default 1000. */
  readonly limit?: number
}

/** A topic at a glance. A count that has reached the limit stands for that many tasks or more. */
export interface TopicOverview extends Required<TopicOptions> {
  readonly topic: string
  readonly ready: number
  readonly active: number
  /** Tasks that wait for their due time: pushed with `due` or `delayMs`, or waiting for a retry. */
  readonly delayed: number
  /** How many milliseconds ago the oldest ready task was pushed, by the database's clock. Undefined if no task is ready. */
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
   * Only tasks in one of these states. Default: failed, suspended, filtered, succeeded, recreated and redundant. Tasks that are still to be
   * done are purged only if their state is named: `delayed` (`suspended` does not include it), `ready`, `expired`, `active`.
   */
  readonly states?: readonly FilterState[]
  /**
   * Only tasks that ended at least so many milliseconds ago, by the database's clock; 0 to 100 years. The age of a task that waits for a
   * retry counts from its last try, that of any other task that has not ended from its push.
   */
  readonly olderThanMs?: number
  /** Only these tasks; they also meet the filter. Default: every task of the topic. */
  readonly sequences?: readonly number[]
  /** How many tasks at most, 1 to 100 000. Default 10 000. Call again as long as that many are reported. */
  readonly limit?: number
}

export interface ResolveOptions {
  /**
   * Only tasks of this topic. Default: of all topics that share their sequences. A topic that keeps outcomes has sequences of its own, and must be named.
   */
  readonly topic?: string
  /** Whether to find the last sequence at or before the instant, instead of the first at or after it. Default false. */
  readonly preceding?: boolean
}

/** What `repair` found wrong and corrected. */
export interface Repair {
  /** How many topics were checked. */
  readonly topics: number
  /** How many tasks had a wrong derived column. */
  readonly corrected: number
  /** How many of the corrected tasks are ready, and no poll would have found them. */
  readonly listed: number
  /** How many identifiers the next polls will look at again, because the next task of each may have been missed. Only under a condition. */
  readonly noted: number
  /** How many active tasks `expire` would not have found after the death of their owner. */
  readonly held: number
  /** How many tasks are still wrong, because other transactions were working on them: call again. */
  readonly left: number
  /** `ahead`: new tasks are numbered after all tasks that exist. `moved`: they were not, and the sequence was moved forward. */
  readonly sequence: 'ahead' | 'moved'
}

/** Creates, inspects, repairs and cleans topics. */
export interface TaskCatalog<Transaction, E extends Execution = 'async'> {
  /**
   * Makes a topic known, so that tasks can be pushed to it. A known topic stays as it is; its options are compared with those given, if any.
   *
   * @returns whether the topic is new
   * @throws TaskError TOPIC_DIFFERENT or TOPIC_NOT_KEYED if the topic has other options: it keeps them until it is destroyed; ARGUMENT_INVALID
   * @example
   * await tasks.initialize(tx, 'accounts', { condition: 'singular-by-identifier' })
   */
  initialize(transaction: Transaction, topic: string, options?: TopicOptions): Outcome<E, boolean>
  /** Every known topic, in alphabetical order. */
  topics(transaction: Transaction): Outcome<E, string[]>
  /**
   * Deletes a topic with all of its tasks, active and delayed ones too. A push that commits later may leave its tasks in a new topic of this
   * name: stop producers first, or call `repair` afterwards.
   *
   * @returns whether the topic was known
   */
  destroy(transaction: Transaction, topic: string): Outcome<E, boolean>
  /**
   * Renews the statistics by which the database plans its queries.
   *
   * @throws TaskError PERMISSION_DENIED on PostgreSQL, unless the user owns the tables or may maintain them
   */
  refresh(transaction: Transaction): Outcome<E, void>
  /**
   * Limits how long each further statement of this transaction may take: the server ends one that takes longer. Only PostgreSQL does so, and
   * only if the session has no limit of its own. On other databases the call does nothing.
   *
   * @param timeoutMs milliseconds, 1 to 86 400 000 (a day)
   * @throws TaskError ARGUMENT_INVALID
   */
  limitStatements(transaction: Transaction, timeoutMs: number): Outcome<E, void>
  /**
   * Recomputes everything that is derived from the tasks themselves. Call it after rows were written by other means than the verbs: a restored
   * backup, a promoted logical replica, rows put back by hand.
   *
   * Rows that are right stay as they are. Others may work meanwhile, and the call waits for none of their tasks. It reads every task of the
   * topic, or of all topics if none is given: a million tasks take some seconds. Every process forgets what it has learned of the topic by
   * polling. At its next poll, at most `idleMs` later, a sleeping node finds the tasks that became ready.
   *
   * The transaction must be READ COMMITTED. Rows that were put back must be committed, or written in this transaction.
   *
   * @throws TaskError TOPIC_UNKNOWN; PERMISSION_DENIED if the sequence is behind and this user may not move it
   * @example
   * const { listed, held } = await tasks.repair(tx)
   */
  repair(transaction: Transaction, topic?: string): Outcome<E, Repair>

  /**
   * The task of this sequence or external id, or of this identifier the first one that has not ended, or else the latest; undefined if there is none.
   *
   * @param reference an identifier only in keyed topics
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN, TOPIC_NOT_KEYED
   */
  task(transaction: Transaction, topic: string, reference: TaskReference): Outcome<E, TaskInfo | undefined>
  /**
   * One page of the tasks of a topic, in the order of their sequences. Without a filter the verb reads no more tasks than it returns. With a
   * filter it reads the topic until it has found enough; `from`, `to`, `after` and `before` bound the part that it reads. On SQLite the call blocks
   * the event loop.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * const failed = await tasks.page(tx, 'invoices', { states: ['failed'], size: 10 })
   */
  page(transaction: Transaction, topic: string, options?: PageOptions): Outcome<E, TaskInfo[]>
  /** Every topic at a glance, in alphabetical order, for dashboards. Reads at most `limit` rows for each count, and no task that has ended. */
  overview(transaction: Transaction, options?: OverviewOptions): Outcome<E, TopicOverview[]>
  /**
   * Exact counts by topic and state; delayed tasks are counted apart from suspended ones. Every known topic is in the map, in alphabetical order.
   * Reads every task of the topic, or of all topics, from `from` to `to`: for people, not for loops. On SQLite the call blocks the event loop.
   *
   * @throws TaskError ARGUMENT_INVALID; TOPIC_UNKNOWN if `topic` is given and was never initialised
   * @example
   * const failed = (await tasks.count(tx, { topic: 'invoices' })).get('invoices')?.get('failed')?.count ?? 0
   */
  count(transaction: Transaction, options?: CountOptions): Outcome<E, ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>>
  /**
   * How many tasks ended with which result, by topic. Every known topic is in the map, in alphabetical order. A task that waits for a retry has not
   * ended, and neither has a suspended one that was never completed. With an instant, only tasks that have a completion time are counted: a task that
   * `reassign` gave a result before it was completed has none. Reads every task of every topic, whatever the instants: for people, not for loops. On
   * SQLite the call blocks the event loop.
   *
   * @throws TaskError ARGUMENT_INVALID
   */
  results(transaction: Transaction, options?: ResultsOptions): Outcome<E, ReadonlyMap<string, ReadonlyMap<TaskResult, number>>>
  /**
   * Finds the sequence that belongs to an instant, over all topics or in one, for the bounds of `page`, `count` and `purge`. May read every task of every
   * topic. On SQLite the call blocks the event loop.
   *
   * @returns the first sequence that was pushed at or after the instant, or `Number.MAX_SAFE_INTEGER` if there is none; with `preceding` the
   * last one that was pushed at or before the instant, or 0
   * @throws TaskError ARGUMENT_INVALID
   * @example
   * const from = await tasks.resolve(tx, new Date('2027-01-01T00:00:00Z'))
   * const counts = await tasks.count(tx, { topic: 'invoices', from })
   */
  resolve(transaction: Transaction, instant: Date, options?: ResolveOptions): Outcome<E, number>

  /**
   * Deletes tasks of a topic, in the order of their sequences: those in `states`, by default the states in which a task has ended or was set
   * aside. A task that waits for its due time or for a retry is deleted only if `states` names `delayed`, and one that waits for others only if it names
   * `blocked`. Tasks that others are working on are passed over, and so are those that a task needs which has not ended. The verb reads the topic from `from` on, until it has found enough. A small `limit` keeps locks short.
   *
   * @returns how many tasks were deleted
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * await tasks.purge(tx, 'reminders', { states: ['delayed'], identifier: 'user-7' })   // reminders that have not come yet
   * while ((await commit((tx) => tasks.purge(tx, 'invoices', { states: ['succeeded'], completedBefore: lastYear }))) > 0);
   */
  purge(transaction: Transaction, topic: string, options?: PurgeOptions): Outcome<E, number>
  /** Deletes every task of a topic, active and delayed ones too. The topic stays. @returns how many there were. @throws TaskError TOPIC_UNKNOWN */
  purgeAll(transaction: Transaction, topic: string): Outcome<E, number>
}
