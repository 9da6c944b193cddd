import type { Execution, Outcome } from './execution.ts'
import type { FilterState } from './task-filter.ts'
import type { FormerTask } from './task-locker.ts'
import type { TaskReason } from './task-state.ts'
import type { Task } from './task.ts'

/** How an action has left its tasks. Only tasks that are still so are restored. */
export interface LeftTasks {
  readonly states: readonly FilterState[]
  readonly reason?: TaskReason
  /** The due time of those that are delayed. */
  readonly due?: Date
  /** Null: they have no deadline. Undefined: any. */
  readonly deadline?: Date | null
  readonly priority?: number
}

export interface RestoreOptions {
  /** What the tasks were before the action, 1 to 10 000. None of them had succeeded, as its result is gone. */
  readonly tasks: readonly FormerTask[]
  readonly left: LeftTasks
  /** When the action was, by the database's clock. */
  readonly made: Date
}

/** What has become of the tasks of an action that was to be undone. */
export interface Restoration {
  /** The tasks that are again what they were, by sequence. */
  readonly restored: readonly Task[]
  /** How many have been taken by a poll since, or are locked by another transaction: they stay as they are. */
  readonly taken: number
  /** How many were changed in another way since, or deleted. */
  readonly changed: number
  /** How many had let later tasks of their identifier begin, in a topic with a condition: what was done after them would come before them. */
  readonly overtaken: number
}

/** Undoes what an action has done to tasks. */
export interface TaskRestorer<Transaction, E extends Execution = 'async'> {
  /**
   * Makes tasks again what they were before an action: their state, reason, tries, due time, deadline and priority. A task that was at work becomes
   * ready. Only tasks that nobody has touched since are restored: they have the same attempt, and are still as the action has left them. The message of
   * the last attempt comes back from the history of attempts. Tasks that other transactions have locked are passed over, and counted as taken.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * const { tasks: before } = await tasks.lock(tx, 'invoices', { states: ['failed'] })
   * await tasks.redrive(tx, 'invoices')
   * // in a later transaction, after all:
   * await tasks.restore(tx2, 'invoices', { tasks: before, left: { states: ['ready', 'blocked'] }, made })
   */
  restore(transaction: Transaction, topic: string, options: RestoreOptions): Outcome<E, Restoration>
}
