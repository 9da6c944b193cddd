import type { Execution, Outcome } from './execution.ts'

/** Whether a topic is meant to be processed, as somebody has said. */
export interface Activation {
  readonly active: boolean
  /** When that was said, by the database's clock. */
  readonly changed: Date
}

/** What is kept of whether topics are meant to be processed: for every node, and across restarts. */
export interface TaskActivations<Transaction, E extends Execution = 'async'> {
  /**
   * The topic is to be processed: nodes that do so and were told otherwise begin again, once this commits.
   *
   * @returns whether anything changed; true also where nothing was said before
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   */
  activate(transaction: Transaction, topic: string): Outcome<E, boolean>
  /**
   * The topic is not to be processed: nodes stop in phases, once this commits, and take it up again when it is activated. Tasks can be
   * pushed all the same.
   *
   * @returns whether anything changed; true also where nothing was said before
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * await transactions((transaction) => tasks.deactivate(transaction, 'invoices'))
   */
  deactivate(transaction: Transaction, topic: string): Outcome<E, boolean>
  /** What was said, by topic; topics of which nothing was ever said are not there. */
  activations(transaction: Transaction): Outcome<E, ReadonlyMap<string, Activation>>
}
