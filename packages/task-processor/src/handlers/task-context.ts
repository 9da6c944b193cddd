import type { Completion, HeldTask, TaskSupplement } from '@taskstream/task-api'
import type { Decisions } from '../core/task-handler.ts'

/**
 * What a composite does beside its steps: its part in the transaction that completes a batch, and what follows from the commit.
 *
 * @example
 * const store: TaskContext<pg.PoolClient> = {
 *   name: 'store',
 *   apply: async (transaction, decisions, supplement) => {
 *     for (const [task, { continued }] of decisions) if (continued) await insert(transaction, supplement.require(Invoice, task))
 *   },
 * }
 */
export interface TaskContext<Transaction> {
  /** What it is called in messages and in the flowchart. Default: its place, such as `contexts[0]`. */
  readonly name?: string
  /**
   * Works in the completing transaction, for tasks that are still held and no others. What it throws rolls the transaction back, with
   * all that other contexts have written; then every task of the batch fails of it, or is retried by the policy, in a new transaction.
   * The transaction source may run it again, after a deadlock for one: what it does outside `transaction`, it must be able to do twice.
   *
   * @param decisions what the steps decided, and the contexts before this one
   * @returns what it decides in addition, of every one of these tasks: one that is missing fails, and is completed as failed in this
   *   very transaction. Nothing returned adds nothing.
   */
  apply?(transaction: Transaction, decisions: Decisions, supplement: TaskSupplement): Decisions | void | Promise<Decisions | void>
  /** Called once, when the transaction is committed. What it throws is reported, and changes nothing any more. */
  afterTransaction?(commit: TaskCommit): void | Promise<void>
}

/** A context with a state of its own for each batch. */
export interface TaskContextFactory<Transaction> {
  /** As a context's own. */
  readonly name?: string
  /** Called before the first step. What it throws fails the batch. */
  open(batch: ContextBatch): TaskContext<Transaction>
}

/** A batch that comes to the first step. */
export interface ContextBatch {
  readonly topic: string
  readonly tasks: readonly HeldTask[]
  readonly supplement: TaskSupplement
}

/** What has been committed. */
export interface TaskCommit {
  readonly completion: Completion
  readonly decisions: Decisions
  /** There may be work in another topic of this node. */
  wake(topic: string): void
}
