import type { Execution, Outcome } from './execution.ts'
import type { TaskReason, TaskState } from './task-state.ts'
import type { TaskKey } from './task.ts'

/** How far the work of a task has come, in the task that does the work now. */
export interface TaskEnding {
  /** The task itself, or the last of those that went on with its work. Ask for this one next time. */
  readonly task: TaskKey
  readonly state: TaskState
  /** Whether the work is over: nothing happens to the task any more, unless somebody revives it. */
  readonly ended: boolean
  readonly reason: TaskReason | undefined
  /** What a succeeded task returns, as JSON text; undefined if it returns nothing. */
  readonly value: string | undefined
  /** The message of a task that failed or was filtered. */
  readonly output: string | undefined
}

/** Tells those who wait how tasks have ended, and what they return. */
export interface TaskEndings<Transaction, E extends Execution = 'async'> {
  /**
   * Tells how tasks have ended. If another task goes on with the work of a task (`TaskDecision.withSuccessor`), that one counts, and so on to the
   * last. Any number of tasks, of any topics, is told by one statement for each step of the longest chain.
   *
   * @param tasks at most 100 000
   * @returns an ending for each task, in the same order; undefined for a task that is not there, as it was purged or never committed
   * @throws TaskError ARGUMENT_INVALID
   * @example
   * const [ending] = await tasks.endings(tx, [invoice])
   * if (ending?.state === 'succeeded') console.log(ending.value)
   */
  endings(transaction: Transaction, tasks: readonly TaskKey[]): Outcome<E, readonly (TaskEnding | undefined)[]>
}
