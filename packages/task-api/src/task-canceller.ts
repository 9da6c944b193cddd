import type { Execution, Outcome } from './execution.ts'
import type { TaskSelector } from './task-selector.ts'
import type { Task } from './task.ts'

/** What a cancellation has ended. */
export interface Cancellation {
  /** The tasks that were cancelled, by sequence. */
  readonly cancelled: readonly Task[]
  /** Those of them that an owner was working on. What their handlers complete later is refused as lost. */
  readonly taken: readonly Task[]
}

/** Ends tasks that nobody wants any more. */
export interface TaskCanceller<Transaction, E extends Execution = 'async'> {
  /**
   * Ends tasks that have not ended: they become filtered, with the reason `cancelled`. A task is found whether it is ready, delayed, blocked,
   * suspended, expired or at work. One that is at work is taken from its owner at once: `complete` and `handBack` no longer find it, so nothing that its
   * handler writes together with its completion is kept. A node asks the handler to let go at its next look. Tasks that have ended, and tasks that do
   * not exist, are passed over.
   *
   * If another transaction is working on one of the tasks, the verb waits for it. A task that this other transaction completes has ended. A revival
   * brings cancelled tasks back.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN; TOPIC_NOT_KEYED for an identifier in a topic that is not keyed
   * @example
   * await tasks.cancel(tx, 'reminders', { externalId: 'order 7' })   // the order was paid
   * await tasks.cancel(tx, 'prices', { identifier: 'EUR' })          // all that is still to be done for EUR
   * const { taken } = await tasks.cancel(tx, 'invoices', [4711, 4712])
   */
  cancel(transaction: Transaction, topic: string, selector: TaskSelector): Outcome<E, Cancellation>
}
