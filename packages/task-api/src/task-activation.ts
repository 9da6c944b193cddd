import type { Execution, Outcome } from './execution.ts'

/** Whether a topic is meant to be processed, and since when. */
export interface Activation {
  readonly active: boolean
  /** When `active` last changed, by the database's clock. */
  readonly changed: Date
  /** Who changed it, and why, if that was told. */
  readonly actor?: string
  readonly note?: string
}

export interface ActivationOptions {
  /** Who does it, up to 250 characters. */
  readonly actor?: string
  /** Why, up to 500 characters: whoever asks later why nothing is processed is told. */
  readonly note?: string
}

/** Switches the processing of topics on and off. The database keeps the switches, so they hold for every node and across restarts. */
export interface TaskActivations<Transaction, E extends Execution = 'async'> {
  /**
   * Switches the processing of a topic on. Once the transaction commits, nodes that had stopped for a `deactivate` begin again.
   *
   * @returns whether anything changed; true also if the topic was never switched before
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   */
  activate(transaction: Transaction, topic: string, options?: ActivationOptions): Outcome<E, boolean>
  /**
   * Switches the processing of a topic off. Once the transaction commits, nodes stop processing the topic in phases, until it is activated
   * again. Tasks can still be pushed.
   *
   * @returns whether anything changed; true also if the topic was never switched before
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * await transactions((transaction) => tasks.deactivate(transaction, 'invoices', { note: 'the bank is down' }))
   */
  deactivate(transaction: Transaction, topic: string, options?: ActivationOptions): Outcome<E, boolean>
  /** The switches, by topic. A topic that was never switched is not in the map. */
  activations(transaction: Transaction): Outcome<E, ReadonlyMap<string, Activation>>
}
