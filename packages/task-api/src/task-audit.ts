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
  /**
   * The action of which this is a further portion, and which one: 1, 2 … An action on many tasks has one id, and a record for each transaction. Not
   * together with `undoes`.
   */
  readonly portion?: { readonly of: string; readonly number: number }
  /** Their sequences, as ranges from the first to the last of each. */
  readonly sequences?: readonly (readonly [first: number, last: number])[]
  /** What undoing it needs, such as the states before. */
  readonly former?: JsonValue
  /** The id of the record that this one undoes. A record is undone once. */
  readonly undoes?: string
  /**
   * Whether this takes the place of the record that this transaction has made of the same undo. A first record, of 0 tasks, keeps others from undoing the
   * action while this transaction does. Only with `undoes`.
   */
  readonly replaces?: boolean
}

export interface RecordedAction extends Omit<Action, 'portion' | 'replaces'> {
  /** The id of its action. A further portion has its number after a hyphen, and what undoes it a `u`: `5e1c0a9b7f21`, `5e1c0a9b7f21-1`, `5e1c0a9b7f21-1u`. */
  readonly id: string
  /** By the database's clock. */
  readonly at: Date
}

export interface ActionsOptions {
  /** Only the action of this id: all of its portions, and what has undone them. */
  readonly id?: string
  /** Of an `id`: whether its further portions are read, too. Default true. */
  readonly portions?: boolean
  readonly topic?: string
  /** Only actions of the last so many milliseconds, 0 to 100 years. Default: all. */
  readonly withinMs?: number
  /** Whether `sequences` and `former` are read, which may be long. Default true. */
  readonly details?: boolean
  /** How many at most, 1 to 10 000. Default 100. */
  readonly limit?: number
}

export interface PurgeActionsOptions {
  /** Only actions that are older than so many milliseconds, 0 to 100 years. */
  readonly olderThanMs: number
  /** About how many at most, 1 to 100 000. Default 10 000. Call again as long as that many are reported. */
  readonly limit?: number
}

/** Remembers what people have done. The verbs that change tasks do not write here: whoever offers them to people does, in the same transaction. */
export interface TaskAudit<Transaction, E extends Execution = 'async'> {
  /**
   * Records an action, or a portion of one.
   *
   * @returns the id of the record
   * @throws TaskError ARGUMENT_INVALID; ACTION_UNDONE if the action that it undoes was undone before, by whomever
   */
  record(transaction: Transaction, action: Action): Outcome<E, string>
  /**
   * What people have done, the latest first.
   *
   * @throws TaskError ARGUMENT_INVALID
   * @example
   * for (const { at, actor, action, count } of await tasks.actions(tx)) console.log(at, actor, action, count)
   */
  actions(transaction: Transaction, options?: ActionsOptions): Outcome<E, readonly RecordedAction[]>
  /**
   * Deletes old records. What they tell of can then no longer be undone.
   *
   * @returns how many were deleted
   * @throws TaskError ARGUMENT_INVALID
   */
  purgeActions(transaction: Transaction, options: PurgeActionsOptions): Outcome<E, number>
}
