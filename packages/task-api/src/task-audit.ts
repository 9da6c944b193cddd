import type { Execution, Outcome } from './execution.ts'
import type { JsonValue } from './task.ts'

/** Something that a person does to tasks, topics or processes. */
export interface Action {
  /** The name of the verb, 1 to 20 characters, such as `redrive`. */
  readonly action: string
  readonly topic?: string
  /** Who does it, up to 250 characters. */
  readonly actor?: string
  /** Where it is done, up to 20 characters, such as `cli`. */
  readonly via?: string
  /** Why, up to 500 characters. */
  readonly note?: string
  /** How many tasks it concerns. */
  readonly count: number
  /** By what the tasks were chosen. */
  readonly filter?: JsonValue
  /** Their sequences, as ranges from the first to the last of each. */
  readonly sequences?: readonly (readonly [first: number, last: number])[]
  /** What undoing it needs, such as the states before. */
  readonly former?: JsonValue
  /** The id of the action that this one undoes. */
  readonly undoes?: string
}

export interface RecordedAction extends Action {
  readonly id: string
  /** By the database's clock. */
  readonly at: Date
}

export interface ActionsOptions {
  /** Only the action of this id. */
  readonly id?: string
  readonly topic?: string
  /** Only actions of the last so many milliseconds, 0 to 100 years. Default: all. */
  readonly withinMs?: number
  /** How many at most, 1 to 10 000. Default 100. */
  readonly limit?: number
}

/** Remembers what people have done. The verbs that change tasks do not write here: whoever offers them to people does, in the same transaction. */
export interface TaskAudit<Transaction, E extends Execution = 'async'> {
  /** Records an action. @returns its id. @throws TaskError ARGUMENT_INVALID */
  record(transaction: Transaction, action: Action): Outcome<E, string>
  /**
   * What people have done, the latest first.
   *
   * @throws TaskError ARGUMENT_INVALID
   * @example
   * for (const { at, actor, action, count } of await tasks.actions(tx)) console.log(at, actor, action, count)
   */
  actions(transaction: Transaction, options?: ActionsOptions): Outcome<E, readonly RecordedAction[]>
}
