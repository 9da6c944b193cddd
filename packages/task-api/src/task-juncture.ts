import type { Execution, Outcome } from './execution.ts'

/**
 * When an identifier of a group has arrived at a junction.
 *
 * - `singular`: it has a suspended task; a delayed task does not count
 * - `eternal`: it has a task in any state but redundant
 */
export type Junction = 'singular' | 'eternal'

/** Joins branches of work: suspended tasks become ready together when their whole group has arrived. */
export interface TaskJuncture<Transaction, E extends Execution = 'async'> {
  /**
   * Makes the suspended tasks of a group ready if every identifier of the group has arrived in this topic. Delayed tasks are not started. Calls that
   * share an identifier wait for each other: if two transactions complete a group, the later one starts it.
   *
   * @param groups the identifiers of each group; 100 000 identifiers in all at most
   * @returns the identifiers whose suspended tasks were started
   * @throws TaskError ARGUMENT_INVALID if a group is empty or names an identifier twice; TOPIC_UNKNOWN, TOPIC_NOT_KEYED;
   * ISOLATION_UNSUPPORTED on servers, unless the transaction is READ COMMITTED
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
