import type { Execution, Outcome } from './execution.ts'
import type { PushedTask, TaskCreation } from './task.ts'

/** Where tasks are pushed. */
export interface TaskSink<Transaction, E extends Execution = 'async'> {
  /**
   * Adds tasks to the end of a topic, as part of `transaction`: others see them when it commits, and if it rolls back they never were.
   *
   * @param creations one or many, up to 100 000; a string is the identifier of a task without input. None writes nothing.
   * @returns a task for each creation, in their order, with ascending sequences
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN: nothing was written
   * @example
   * await tasks.push(tx, 'invoices', [{ identifier: 'inv-1', input: '…' }, { identifier: 'inv-2', delayMs: 60_000 }])
   */
  push(
    transaction: Transaction,
    topic: string,
    creations: string | TaskCreation | readonly (string | TaskCreation)[],
  ): Outcome<E, PushedTask[]>
}
