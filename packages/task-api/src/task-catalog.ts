import type { Execution, Outcome } from './execution.ts'
import type { TaskInfo } from './task.ts'
import type { TaskState } from './task-state.ts'

export interface PageOptions {
  /** Only tasks with a greater sequence, ascending. Default: from the first. */
  readonly after?: number
  /** Only tasks with a smaller sequence, descending. Not together with `after`. */
  readonly before?: number
  /** At most so many, 0 to 100 000. Default 100. */
  readonly size?: number
}

export interface CountOptions {
  /** Only this topic. An unknown one counts nothing. */
  readonly topic?: string
}

/** How many tasks are in a state, and the greatest sequence among them. */
export interface TaskCount {
  readonly count: number
  readonly bound: number
}

/** Looking at topics and their tasks. */
export interface TaskCatalog<Transaction, E extends Execution = 'async'> {
  /**
   * Makes a topic known. Tasks can be pushed to known topics only.
   * @returns whether it is new
   */
  initialize(transaction: Transaction, topic: string): Outcome<E, boolean>
  /** Every known topic, in alphabetical order. */
  topics(transaction: Transaction): Outcome<E, string[]>
  /** The task of that very sequence, if it exists. */
  task(transaction: Transaction, topic: string, sequence: number): Outcome<E, TaskInfo | undefined>
  /** Tasks of a topic in the order of their sequences, page by page. */
  page(transaction: Transaction, topic: string, options?: PageOptions): Outcome<E, TaskInfo[]>
  /** Exact counts by topic and state; every known topic is there. Reads every task it counts: for people, not for loops. */
  count(transaction: Transaction, options?: CountOptions): Outcome<E, ReadonlyMap<string, ReadonlyMap<TaskState, TaskCount>>>
}
