import type { Execution, Outcome } from './execution.ts'
import type { FilterState, TaskFilter } from './task-filter.ts'
import type { Task } from './task.ts'
import type { TaskResult } from './task-state.ts'

/**
 * How an ended task is brought back: `reset` makes its own row ready again, in its old place; the others push a new task and
 * leave the old one recreated, with what that insertion does to older tasks. As in a push, only the last of several tasks of one
 * identifier counts under `supersede` and `replace`: the new tasks of the others are redundant.
 */
export type Revivification = 'reset' | 'append' | 'supersede' | 'replace'

/** The states that a task can be brought back from. `delayed`, before its time: never meant by `suspended`. */
export type RevivableState = Extract<FilterState, 'expired' | 'failed' | 'suspended' | 'delayed' | 'filtered' | 'succeeded'>

/** The first tasks, by sequence, that meet a filter. */
export interface RecreateSelection extends Omit<TaskFilter, 'states'> {
  readonly state: RevivableState
  /** At most so many, 1 to 100 000. Default 1. */
  readonly size?: number
}

/** A task and what was made of it: itself, if it was reset. */
export interface RecreatedTask {
  readonly from: Task
  readonly to: Task
}

export interface ReassignAllOptions {
  readonly from: RevivableState
  readonly to: TaskResult
  /** The first sequence, inclusive. */
  readonly first?: number
  /** The last sequence, inclusive. */
  readonly last?: number
}

export interface RedriveOptions extends Omit<TaskFilter, 'states'> {
  /** Default `['failed']`. */
  readonly states?: readonly RevivableState[]
  /** Says what would be done, and does nothing. Default false. */
  readonly dryRun?: boolean
  /** At most so many tasks, 1 to 100 000. Default 10 000: call again while as many are reported. */
  readonly limit?: number
}

/** What a redrive did, or would do. */
export interface Redrive {
  readonly count: number
  /** The first and last sequence among them; none when there were none. */
  readonly first?: number
  readonly last?: number
}

/** Bringing ended tasks back, and correcting how they ended. */
export interface TaskReviver<Transaction, E extends Execution = 'async'> {
  /**
   * Brings back the tasks that are given, delayed ones too, or the first that meet a selection. Identifier, input, reference, headers, priority and
   * maximum of tries are kept, and an external id moves to the new task. A reset clears owner, output and times; both clear the
   * tries and the deadline. What others are working on is passed over by a selection, and waited for when it is given. A selection reads the
   * topic from `from` on, until it has found enough.
   *
   * @returns old and new tasks, by sequence
   * @throws TaskError TASK_STATE if a task that was given cannot be brought back: nothing was written; TOPIC_UNKNOWN, TOPIC_NOT_KEYED,
   * ARGUMENT_INVALID
   * @example
   * await tasks.recreate(tx, 'invoices', 'reset', failedTasks)
   * await tasks.recreate(tx, 'invoices', 'append', { state: 'expired', size: 100 })
   */
  recreate(
    transaction: Transaction,
    topic: string,
    revivification: Revivification,
    tasks: Iterable<Task> | RecreateSelection,
  ): Outcome<E, RecreatedTask[]>

  /**
   * Makes ready again, in their old places, the failed tasks that meet a filter; or says how many it would be. It reads the topic from `from`
   * on, until it has found enough. On SQLite the event loop stands still meanwhile.
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * await tasks.redrive(tx, 'invoices', { states: ['delayed'] })   // what waits for a retry or its due time, now
   */
  redrive(transaction: Transaction, topic: string, options?: RedriveOptions): Outcome<E, Redrive>

  /**
   * Gives ended tasks another result. Output and completion stay as they are. A delayed task that is given waits no longer.
   * @throws TaskError TASK_STATE if a task is not there or has not ended: nothing was written; TOPIC_UNKNOWN
   */
  reassign(transaction: Transaction, topic: string, results: ReadonlyMap<Task, TaskResult>): Outcome<E, void>

  /**
   * Gives all tasks of one state another result.
   * @returns how many there were
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * await tasks.reassignAll(tx, 'reminders', { from: 'delayed', to: 'filter' })   // none of them comes
   */
  reassignAll(transaction: Transaction, topic: string, options: ReassignAllOptions): Outcome<E, number>
}
