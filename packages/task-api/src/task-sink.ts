import type { Execution, Outcome } from './execution.ts'
import type { PushedTask, TaskCreation } from './task.ts'

/**
 * What a push does to older tasks of the same topic and identifier. Older tasks have a smaller sequence than the first new task.
 *
 * - `append`: older tasks stay
 * - `supersede`: ready, delayed and blocked tasks become redundant; other tasks stay, such as suspended or failed ones
 * - `replace`: ready, expired, failed, suspended, delayed, blocked, filtered and succeeded tasks become redundant
 * - `delete`: the same tasks are deleted, and recreated and redundant ones too
 *
 * Active tasks are never touched, and tasks that another transaction is working on are passed over. If one push has several creations of one
 * identifier, only the last counts: `supersede` and `replace` push the others as redundant tasks, `delete` does not push them at all. Several
 * creations with one external id are one here, which stands where the first does. If what counts is a duplicate, the older tasks stay.
 */
export type Insertion = 'append' | 'supersede' | 'replace' | 'delete'

export interface PushOptions {
  /** What becomes of older tasks of the same identifiers. Default `append`. The other values need a topic that is `keyed`. */
  readonly insertion?: Insertion
}

/** Takes tasks in. */
export interface TaskSink<Transaction, E extends Execution = 'async'> {
  /**
   * Appends tasks to a topic, inside `transaction`. Others see the tasks once the transaction commits; if it rolls back, nothing was pushed.
   *
   * @param creations one task or many, up to 100 000. A string is the identifier of a task without input. An empty list writes nothing.
   * @returns a task for each creation, in their order; new tasks have ascending sequences. Under `delete`, creations that do not count have none.
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN, TOPIC_NOT_KEYED; nothing was written. TRANSACTION_CONFLICT if a task that had an
   *   external id of this push was deleted meanwhile: roll back, and run the whole transaction again
   * @example
   * await tasks.push(tx, 'invoices', [{ identifier: 'inv-1', input: '…' }, { identifier: 'inv-2', delayMs: 60_000 }])
   * await tasks.push(tx, 'prices', { identifier: 'eur', input: '1.07' }, { insertion: 'supersede' })
   */
  push(
    transaction: Transaction,
    topic: string,
    creations: string | TaskCreation | readonly (string | TaskCreation)[],
    options?: PushOptions,
  ): Outcome<E, PushedTask[]>
}
