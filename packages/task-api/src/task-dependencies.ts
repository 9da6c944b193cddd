import type { Execution, Outcome } from './execution.ts'
import type { TaskKey } from './task.ts'

/** A task that another one needs. */
export interface TaskDependency {
  /** What the other task calls it, 1 to 100 characters. Several tasks may have one name: their order is kept. */
  readonly need: string
  readonly on: TaskKey
  /** Whether the other task starts whatever becomes of this one. Default false: it fails, as unreachable, unless this one succeeds. */
  readonly tolerant?: boolean
}

export interface SettleOptions {
  /** How many tasks at most, 1 to 100 000. Default 1000. */
  readonly limit?: number
}

export interface Settlement {
  /** How many tasks became ready. */
  readonly started: number
  /** How many tasks failed, with the reason `unreachable`, as something that they need did not succeed. */
  readonly unreachable: number
}

/** Tasks that wait for others. */
export interface TaskDependencies<Transaction, E extends Execution = 'async'> {
  /**
   * Makes a task wait until others have succeeded: it is blocked until then. Push it as `suspended` before, in the same transaction. If one of the
   * others ends in another way, or is deleted, the task fails with the reason `unreachable`, unless that dependency is tolerant. If one goes on as
   * another task, that one is waited for. Nothing is locked or written for the others, which may be of any topic.
   *
   * A poll loop sees within a second that a task need not wait any longer, as `promoteDue` settles the topic. Without a loop, call `settle`.
   *
   * @param on 1 to 100 000 tasks. They were pushed before the task, so no task ever waits for itself
   * @throws TaskError ARGUMENT_INVALID, also for a task that was pushed later than the one that needs it; TASK_STATE unless the task is suspended
   * @example
   * const [page] = await tasks.push(tx, 'pages', 'home')
   * const [report] = await tasks.push(tx, 'reports', { identifier: 'weekly', suspended: true })
   * await tasks.depend(tx, report!, [{ need: 'page', on: page! }])
   */
  depend(transaction: Transaction, task: TaskKey, on: readonly TaskDependency[]): Outcome<E, void>
  /**
   * What tasks need, by need and in the order in which it was given. A task that has gone on as another one is told as that one.
   *
   * @param tasks at most 100 000
   * @returns the dependencies of each task, in the same order; none for a task that needs nothing or is not there
   * @throws TaskError ARGUMENT_INVALID
   * @example
   * const [needed] = await tasks.dependencies(tx, [report])
   * const endings = await tasks.endings(tx, needed.map(({ on }) => on))
   */
  dependencies(transaction: Transaction, tasks: readonly TaskKey[]): Outcome<E, readonly (readonly Required<TaskDependency>[])[]>
  /**
   * Starts blocked tasks of a topic whose needs have succeeded, and fails those of which one has not. `promoteDue` does this too. Call it in a transaction
   * of its own.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * const { started, unreachable } = await transactions((tx) => tasks.settle(tx, 'reports'))
   */
  settle(transaction: Transaction, topic: string, options?: SettleOptions): Outcome<E, Settlement>
}
