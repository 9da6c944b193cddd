import type { Execution, Outcome } from './execution.ts'

/**
 * When a group of identifiers has met.
 *
 * - `singular`: each has a suspended task
 * - `eternal`: each has a task that is not redundant, in whatever state
 */
export type Junction = 'singular' | 'eternal'

/** Joining branches of work: a task goes on when those it waits for have arrived. */
export interface TaskJuncture<Transaction, E extends Execution = 'async'> {
  /**
   * Makes ready the suspended tasks of each group of identifiers whose every identifier has met, in this topic. A task that
   * waits for its due time is not started. Calls that share an identifier wait for each other: of two that complete a group in
   * two transactions, the later one starts it.
   *
   * @returns the identifiers of which a task was started
   * @throws TaskError ARGUMENT_INVALID if a group is empty or names an identifier twice; TOPIC_UNKNOWN, TOPIC_NOT_KEYED
   * @example
   * await tasks.junction(tx, 'assemble', 'singular', [['order-7:paid', 'order-7:packed']])
   */
  junction(
    transaction: Transaction,
    topic: string,
    junction: Junction,
    groups: Iterable<readonly string[]>,
  ): Outcome<E, ReadonlySet<string>>
}
