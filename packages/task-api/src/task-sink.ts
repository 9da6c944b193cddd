import type { Execution, Outcome } from './execution.ts'
import type { PushedTask, TaskCreation } from './task.ts'

/**
 * What a push does to older tasks of the same topic and identifier: those with a smaller sequence than its first.
 *
 * - `append`: nothing
 * - `supersede`: those that are still to be done, ready or delayed, become redundant; those set aside for somebody stay
 * - `replace`: those, and those that ended in whatever way, become redundant
 * - `delete`: those, and the recreated and redundant, are deleted
 *
 * Active tasks are never touched, and what another transaction is working on is passed over. Of several creations of one
 * identifier in one push only the last counts: under `supersede` and `replace` the others are pushed redundant, under `delete`
 * they are not pushed at all.
 */
export type Insertion = 'append' | 'supersede' | 'replace' | 'delete'

export interface PushOptions {
  /** Default `append`. The others need a topic that is initialised with `keyed`. */
  readonly insertion?: Insertion
}

/** Where tasks are pushed. */
export interface TaskSink<Transaction, E extends Execution = 'async'> {
  /**
   * Adds tasks to the end of a topic, as part of `transaction`: others see them when it commits, and if it rolls back they never were.
   *
   * @param creations one or many, up to 100 000; a string is the identifier of a task without input. None writes nothing.
   * @returns a task for each creation, in their order, with ascending sequences; under `delete` none for those left out
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN, TOPIC_NOT_KEYED: nothing was written
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
