import type { Execution, Outcome } from './execution.ts'
import type { FilterState, TaskFilter } from './task-filter.ts'
import type { Task } from './task.ts'
import type { TaskResult } from './task-state.ts'

/**
 * How an ended task is brought back.
 *
 * - `reset`: its own row becomes ready again, in its old place
 * - `append`, `supersede`, `replace`: a new task is pushed with this insertion, and the old row becomes recreated
 *
 * If several tasks have one identifier, only the last counts under `supersede` and `replace`, as in a push: the new tasks of the others are
 * redundant.
 */
export type Revivification = 'reset' | 'append' | 'supersede' | 'replace'

/** The states from which a task can be brought back. A delayed task is brought back before its time; `suspended` does not include it. */
export type RevivableState = Extract<FilterState, 'expired' | 'failed' | 'suspended' | 'delayed' | 'filtered' | 'succeeded'>

/** Selects the first tasks, by sequence, that meet a filter. */
export interface RecreateSelection extends Omit<TaskFilter, 'states'> {
  readonly state: RevivableState
  /** How many tasks at most, 1 to 100 000. Default 1. */
  readonly size?: number
}

/** A task that was brought back. */
export interface RecreatedTask {
  /** The task as it was given or selected. */
  readonly from: Task
  /** The new task, or the same task after a reset. */
  readonly to: Task
}

export interface ReassignAllOptions {
  /** The state of the tasks that get another result. */
  readonly from: RevivableState
  /** The result that they get. */
  readonly to: TaskResult
  /** The first sequence, inclusive. */
  readonly first?: number
  /** The last sequence, inclusive. */
  readonly last?: number
}

export interface RedriveOptions extends Omit<TaskFilter, 'states'> {
  /** The states of the tasks that become ready. Default `['failed']`. */
  readonly states?: readonly RevivableState[]
  /** Only tasks whose last attempt failed by this kind of error, as `errors` names it. */
  readonly fingerprint?: string
  /** Whether only to report what would be done. Default false. */
  readonly dryRun?: boolean
  /** How many tasks at most, 1 to 100 000. Default 10 000. Call again as long as that many are reported. */
  readonly limit?: number
}

/** The tasks that a redrive made ready, or would make ready. */
export interface Redrive {
  readonly count: number
  /** The first sequence among them; undefined if there are no tasks. */
  readonly first?: number
  /** The last sequence among them; undefined if there are no tasks. */
  readonly last?: number
}

/** Brings ended tasks back, and corrects their results. */
export interface TaskReviver<Transaction, E extends Execution = 'async'> {
  /**
   * Brings back given tasks, or the first tasks that a selection finds. Given tasks may be delayed ones.
   *
   * Identifier, input, reference, headers, priority and `maxTries` are kept; tries and deadline are cleared. A reset also clears owner, output and
   * times. An external id moves to the new task. If others are working on a task, the verb waits for a given task, and a selection passes over it. A
   * selection reads the topic from `from` on, until it has found enough.
   *
   * @returns the old and the new tasks, by sequence
   * @throws TaskError TASK_STATE if a given task cannot be brought back: nothing was written; TASK_DUPLICATE, TOPIC_UNKNOWN, TOPIC_NOT_KEYED,
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
   * Makes tasks that meet a filter ready again, in their old places: failed ones, or those in `states`. With `dryRun` it only reports them. The verb
   * reads the topic from `from` on, until it has found enough. On SQLite the call blocks the event loop.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * await tasks.redrive(tx, 'invoices')                            // every failed task, up to 10 000
   * await tasks.redrive(tx, 'invoices', { fingerprint, limit: 1 })  // one that failed by this error, to see whether it works now
   * await tasks.redrive(tx, 'invoices', { states: ['delayed'] })   // tasks that wait for a retry or their due time
   */
  redrive(transaction: Transaction, topic: string, options?: RedriveOptions): Outcome<E, Redrive>

  /**
   * Gives ended tasks another result. Their output and completion time stay as they are. A delayed task no longer waits for its due time.
   *
   * @throws TaskError TASK_STATE if a task does not exist or has not ended: nothing was written; TASK_DUPLICATE, TOPIC_UNKNOWN, ARGUMENT_INVALID
   * @example
   * await tasks.reassign(tx, 'invoices', new Map([[task, 'success']]))
   */
  reassign(transaction: Transaction, topic: string, results: ReadonlyMap<Task, TaskResult>): Outcome<E, void>

  /**
   * Gives all tasks of one state another result.
   *
   * @returns how many tasks got another result
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * await tasks.reassignAll(tx, 'reminders', { from: 'delayed', to: 'filter' })   // none of them comes
   */
  reassignAll(transaction: Transaction, topic: string, options: ReassignAllOptions): Outcome<E, number>
}
