import type { Execution, Outcome } from './execution.ts'
import type { TaskDecision } from './task-decision.ts'
import type { PollCondition, PollOrder } from './task-polling.ts'
import type { HeldTask } from './task.ts'

export interface PollOptions {
  /** At most so many tasks, 0 to 10 000. Default 1. */
  readonly size?: number
  /** The order that the topic is expected to have: TOPIC_DIFFERENT if it has another. Default: whatever it has. */
  readonly order?: PollOrder
  /** The condition that the topic is expected to have: TOPIC_DIFFERENT if it has another. Default: whatever it has. */
  readonly condition?: PollCondition
  /**
   * What becomes of the tasks when the transaction commits. Default `lease`: they are active, and this owner's until it completes them.
   * `transaction`: they are to be completed or handed back in this very transaction, which spares writing each of them twice where the
   * database can keep others off until then; once it has ended, completing them reports them as lost. Savepoints may come between.
   */
  readonly hold?: PollHold
}

/** Every value of `PollOptions.hold`. */
export const pollHolds = ['lease', 'transaction'] as const
export type PollHold = (typeof pollHolds)[number]

export interface CompleteOptions {
  /** Throw TASK_LOST if any task is no longer held, instead of reporting it. Default false. */
  readonly strict?: boolean
}

/** What became of a completion, task by task. */
export interface Completion {
  /** Completed by this call. */
  readonly completed: readonly HeldTask[]
  /** No longer held: expired, taken up by another owner, or completed before. Nothing was written for them. */
  readonly lost: readonly HeldTask[]
}

/** What is still held, and locked until the transaction ends. */
export interface Holding {
  readonly held: readonly HeldTask[]
  readonly lost: readonly HeldTask[]
}

export interface PromoteDueOptions {
  /** At most so many tasks, 1 to 100 000. Default 1000. */
  readonly limit?: number
}

/** What a promotion of due tasks did. */
export interface PromotedDue {
  /** How many tasks became ready. */
  readonly promoted: number
  /** Milliseconds until the next task of the topic is due by the database's clock; 0 if some are due already; none if none waits. */
  readonly nextDueMs?: number
}

/** Where tasks are taken from and given back to. */
export interface TaskSource<Transaction, E extends Execution = 'async'> {
  /** Who polls here: name and incarnation. Everything held carries it. */
  readonly owner: string

  /**
   * Takes the first ready tasks of a topic, in its order and under its condition, and makes them active for this owner, as part
   * of `transaction`. Tasks whose deadline has passed are filtered, with that reason, and not returned.
   * Tasks that others are polling at this moment are passed over, never waited for. If the transaction rolls back, what it returned
   * was never held: discard it.
   *
   * @throws TaskError TOPIC_UNKNOWN, TOPIC_DIFFERENT, OWNER_UNKNOWN (call `register` first), ARGUMENT_INVALID, ISOLATION_UNSUPPORTED
   * @example
   * const batch = await tasks.poll(tx, 'invoices', { size: 100 })
   */
  poll(transaction: Transaction, topic: string, options?: PollOptions): Outcome<E, HeldTask[]>

  /**
   * The first half of a completion in two steps: locks what is still held, so that a handler can write in the same transaction
   * for those tasks and no others. Then `complete` in the same transaction loses none of them.
   */
  hold(transaction: Transaction, topic: string, tasks: Iterable<HeldTask>): Outcome<E, Holding>

  /**
   * Completes what is still held, as part of `transaction`: if that rolls back, the tasks are still active. A task that was lost
   * is reported and does not trouble the others.
   *
   * @throws TaskError TASK_DUPLICATE, TASK_LOST (under `strict`), ARGUMENT_INVALID
   * @example
   * const { lost } = await tasks.complete(tx, 'invoices', new Map(batch.map((task) => [task, TaskDecision.success()])))
   */
  complete(
    transaction: Transaction,
    topic: string,
    decisions: ReadonlyMap<HeldTask, TaskDecision>,
    options?: CompleteOptions,
  ): Outcome<E, Completion>

  /** Makes held tasks ready again, undone and in their old place, and refunds the try. For a worker that stops. */
  handBack(transaction: Transaction, topic: string, tasks: Iterable<HeldTask>): Outcome<E, Completion>

  /**
   * Makes ready again what this owner holds in a topic other than what it knows of: after a poll whose commit went unanswered,
   * when nobody else polls the topic for this owner.
   *
   * @returns how many tasks there were
   */
  reclaim(transaction: Transaction, topic: string, known: Iterable<HeldTask>): Outcome<E, number>

  /**
   * Makes due tasks of a topic ready. Poll loops do it before they poll; it costs nothing where no task waits.
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   */
  promoteDue(transaction: Transaction, topic: string, options?: PromoteDueOptions): Outcome<E, PromotedDue>
}
