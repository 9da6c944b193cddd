import type { Execution, Outcome } from './execution.ts'
import type { TaskDecision } from './task-decision.ts'
import type { PollShares } from './poll-shares.ts'
import type { PollCondition, PollOrder } from './task-polling.ts'
import type { HeldTask } from './task.ts'

export interface PollOptions {
  /** How many tasks at most, 0 to 10 000. Default 1. */
  readonly size?: number
  /** The order that the caller expects; the poll throws TOPIC_DIFFERENT if the topic has another. Default: any order. */
  readonly order?: PollOrder
  /** The condition that the caller expects; the poll throws TOPIC_DIFFERENT if the topic has another. Default: any condition. */
  readonly condition?: PollCondition
  /** How many high and low tasks come in turn, in topics of the order `shared`. Default: four high ones, then a low one. */
  readonly shares?: PollShares
  /**
   * How the tasks are held.
   *
   * - `lease` (default): the tasks become active. After the commit this owner holds them until it completes them
   * - `transaction`: the tasks must be completed or handed back in the same transaction. Savepoints may be set meanwhile. On PostgreSQL, in a topic
   *   without an order and a condition, a transaction that has written nothing before only locks the tasks: each is written once instead of twice, and
   *   what was left undone is ready again after the end, when `complete` reports it as lost. Everywhere else the tasks become active, as with `lease`,
   *   and what was left undone stays with this owner after the commit
   */
  readonly hold?: PollHold
}

/** Every value of `PollOptions.hold`. */
export const pollHolds = ['lease', 'transaction'] as const
export type PollHold = (typeof pollHolds)[number]

/** The states in which a completion can end a task. */
export type DiscardedState = 'succeeded' | 'failed' | 'filtered'

export interface CompleteOptions {
  /** Throw TASK_LOST if any task is no longer held, instead of reporting it. Default false. */
  readonly strict?: boolean
  /**
   * Tasks that end in one of these states are deleted, with all that is kept of them, in this transaction. One that others need stays. Default: none.
   */
  readonly discard?: readonly DiscardedState[]
  /**
   * The ids of the traces in which the tasks were handled, each of 1 to 64 characters. They are kept with attempts that did not succeed, and of other
   * tasks they are passed over. Telemetry tells them. Default: none.
   */
  readonly traces?: ReadonlyMap<HeldTask, string>
}

/** What became of each task of a completion. */
export interface Completion {
  /** The tasks that this call completed, or handed back. */
  readonly completed: readonly HeldTask[]
  /** The tasks that were no longer held: expired, taken by another owner, or completed before. Nothing was written for them. */
  readonly lost: readonly HeldTask[]
}

/** Which tasks of a call of `hold` are still held. */
export interface Holding {
  /** The tasks that are still held. They are locked until the transaction ends. */
  readonly held: readonly HeldTask[]
  /** The tasks that are no longer held. */
  readonly lost: readonly HeldTask[]
}

export interface PromoteDueOptions {
  /** How many tasks at most, 1 to 100 000. Default 1000. */
  readonly limit?: number
}

/** What a promotion of due tasks did. */
export interface PromotedDue {
  /** How many tasks became ready. */
  readonly promoted: number
  /** In how many milliseconds the next task of the topic is due, by the database's clock; 0 if it is due already. Undefined if no task waits. */
  readonly nextDueMs?: number
  /** How many blocked tasks have failed, as something that they need did not succeed. Undefined if none has. */
  readonly unreachable?: number
  /**
   * In how many milliseconds it is worth while to call again, as tasks of the topic wait for others (`depend`): a second, or less if this call did not
   * look. Those that need not wait any longer are among the promoted.
   */
  readonly lookAgainMs?: number
}

/** What is to be done in a topic at which nobody may have looked for a while. */
export interface PeekedTopic {
  /** Whether there is something for a poll to do. It may find no task, as tasks of the same identifier wait for each other, and others take them. */
  readonly ready: boolean
  /** In how many milliseconds the next task is due, by the database's clock; 0 if it is due already. Undefined if no task waits. */
  readonly nextDueMs?: number
  /** Whether tasks wait for others (`depend`), so that `promoteDue` has something to settle. */
  readonly blocked: boolean
}

/** Hands tasks out, and takes decisions on them. */
export interface TaskSource<Transaction, E extends Execution = 'async'> {
  /** The owner that polls here: a name with an incarnation. Every task that it holds carries the owner. */
  readonly owner: string

  /**
   * Takes the first ready tasks of a topic for this owner, in the topic's order and under its condition, inside `transaction`.
   *
   * The poll never waits for tasks that others are polling, but passes over them. Tasks whose deadline has passed are filtered with the reason
   * `deadline`, and not returned. If the transaction rolls back, the tasks were never held: discard them.
   *
   * @throws TaskError TOPIC_UNKNOWN, TOPIC_DIFFERENT, OWNER_UNKNOWN (call `register` first), ARGUMENT_INVALID, ISOLATION_UNSUPPORTED
   * @example
   * const batch = await tasks.poll(tx, 'invoices', { size: 100 })
   */
  poll(transaction: Transaction, topic: string, options?: PollOptions): Outcome<E, HeldTask[]>

  /**
   * Locks the tasks that are still held, until the transaction ends. A handler can then write for these tasks only, and `complete` in the same
   * transaction loses none of them.
   *
   * @throws TaskError TASK_DUPLICATE, ARGUMENT_INVALID
   * @example
   * const { held } = await tasks.hold(tx, 'invoices', batch)
   * const decisions = await writeInvoices(tx, held)
   * await tasks.complete(tx, 'invoices', decisions)
   */
  hold(transaction: Transaction, topic: string, tasks: Iterable<HeldTask>): Outcome<E, Holding>

  /**
   * Writes decisions for the tasks that are still held, inside `transaction`. A lost task is reported, and the others are completed all the same. If
   * the transaction rolls back, the tasks stay as they were.
   *
   * @param decisions up to 100 000 decisions, by task
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

  /**
   * Makes held tasks ready again, undone and in their old places, and gives each its try back. A worker that stops calls this.
   *
   * @throws TaskError TASK_DUPLICATE, ARGUMENT_INVALID
   * @example
   * const { lost } = await tasks.handBack(tx, 'invoices', batch)
   */
  handBack(transaction: Transaction, topic: string, tasks: Iterable<HeldTask>): Outcome<E, Completion>

  /**
   * Makes the tasks of a topic that this owner holds ready again, except those in `known`. Call it after a poll whose commit went unanswered, and only
   * if nobody else polls the topic for this owner.
   *
   * @returns how many tasks became ready. If there are any, call it again: tasks that others have locked are passed over
   * @throws TaskError ARGUMENT_INVALID; DATABASE_BUSY if others have locked all tasks that are left
   */
  reclaim(transaction: Transaction, topic: string, known: Iterable<HeldTask>): Outcome<E, number>

  /**
   * Finds those of the given tasks that this owner no longer holds: they were cancelled, or taken from an owner that seemed dead. It reads them as last
   * committed, locks nothing and waits for nobody, so a handler may be told in time that its work will not be kept. A former attempt at a task and the
   * present one may stand in one call.
   *
   * @returns the lost tasks, by sequence
   * @throws TaskError ARGUMENT_INVALID
   * @example
   * if ((await tasks.lost(tx, 'invoices', [task])).length > 0) controller.abort()
   */
  lost(transaction: Transaction, topic: string, tasks: Iterable<HeldTask>): Outcome<E, HeldTask[]>

  /**
   * Makes due tasks of a topic ready. A poll loop calls this before it polls; without waiting tasks the call costs one small query.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * const { promoted, nextDueMs } = await tasks.promoteDue(tx, 'reminders')
   */
  promoteDue(transaction: Transaction, topic: string, options?: PromoteDueOptions): Outcome<E, PromotedDue>

  /**
   * Tells in which of several topics there is something to do, so that a node need not poll each of them. It takes nothing, writes nothing and locks
   * nothing. It asks one statement for about a hundred topics, and never overlooks a task that a poll in its place would find.
   *
   * @param topics up to 10 000 topics. A topic that nobody has initialized is not in the answer
   * @throws TaskError ARGUMENT_INVALID
   * @example
   * const found = await tasks.peek(tx, ['invoices', 'reminders'])
   * if (found.get('invoices')?.ready) loop.wake()
   */
  peek(transaction: Transaction, topics: readonly string[]): Outcome<E, ReadonlyMap<string, PeekedTopic>>
}
