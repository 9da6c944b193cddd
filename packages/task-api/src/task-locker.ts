import type { Execution, Outcome } from './execution.ts'
import type { FilterState, TaskFilter } from './task-filter.ts'
import type { TaskSelector } from './task-selector.ts'
import type { TaskReason } from './task-state.ts'

/** Which tasks are to be locked: those that are named, or the first that meet a filter. */
export interface LockOptions extends TaskFilter {
  /** Only these tasks; they also meet the filter. Not together with `fingerprint` and `newest`. */
  readonly tasks?: TaskSelector
  /** Only tasks whose last attempt failed by this kind of error, as `errors` names it. Those that failed first come first. */
  readonly fingerprint?: string
  /** Whether the newest tasks come first: those of the highest sequences, or with `fingerprint` those that failed last. Default false. */
  readonly newest?: boolean
  /** Whether tasks are left out that others need which have not ended, as a purge leaves them out. Default false. */
  readonly unneeded?: boolean
  /** Whether tasks that other transactions have locked are passed over, instead of waited for. Default false. */
  readonly skipLocked?: boolean
  /** Whether the tasks are only read, and not locked. Default false. */
  readonly dryRun?: boolean
  /** How many tasks at most, 1 to 10 000. Default 1000. Tasks that are named are all locked. */
  readonly limit?: number
}

/** What a task was at an instant, as far as a verb may change it. */
export interface FormerTask {
  readonly sequence: number
  readonly state: FilterState
  readonly attempt: number
  readonly tries: number
  readonly priority: number
  readonly reason?: TaskReason
  /** Of a delayed task: when it becomes ready. */
  readonly due?: Date
  readonly deadline?: Date
}

/** A task that is locked until the transaction ends. */
export interface LockedTask extends FormerTask {
  readonly identifier: string
}

export interface LockedTasks {
  /** By sequence. */
  readonly tasks: readonly LockedTask[]
  /** The last sequence that was looked at. Undefined if there was none. */
  readonly last?: number
  /** Whether there may be more tasks of the filter after `last`. */
  readonly hasMore: boolean
}

/** Keeps tasks as they are while a transaction decides what to do with them. */
export interface TaskLocker<Transaction, E extends Execution = 'async'> {
  /**
   * Locks tasks until the transaction ends, and says what they are. Whatever a verb makes of them in this transaction, it makes of these. Tasks are
   * locked in the order of their sequences, as every verb locks them. It writes nothing. The verb reads the topic from `from` on, until it has found
   * enough.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN; TOPIC_NOT_KEYED for an identifier in `tasks`, in a topic that is not keyed
   * @example
   * const { tasks: failed } = await tasks.lock(tx, 'invoices', { states: ['failed'], limit: 100 })
   */
  lock(transaction: Transaction, topic: string, options?: LockOptions): Outcome<E, LockedTasks>
}
