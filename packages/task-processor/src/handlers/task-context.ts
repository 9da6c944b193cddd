import type { Completion, HeldTask, TaskSupplement } from '@taskstream/task-api'
import type { Decisions } from '../core/task-handler.ts'

/**
 * A part of a composite that works in the transaction that completes a batch, and after its commit.
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
  /** The name in messages and in the flowchart. Default: the place among the contexts, such as `contexts[0]`. */
  readonly name?: string
  /**
   * Works in the completing transaction, only for tasks that are still held. An error rolls the transaction back, with the writes of all
   * contexts. Every task of the batch then fails with this error, or is retried by the policy, in a new transaction. The transaction
   * source may call this function again, for example after a deadlock, so its effects outside `transaction` must be repeatable.
   *
   * @param decisions the decisions of the steps, merged with those of the contexts before this one
   * @returns further decisions, one for each of these tasks, or nothing. A task without a decision in a returned map fails, and this same
   *   transaction completes it as failed.
   */
  apply?(transaction: Transaction, decisions: Decisions, supplement: TaskSupplement): Decisions | void | Promise<Decisions | void>
  /** Called once, after the commit. An error is only reported, as the tasks are completed by then. */
  afterTransaction?(commit: TaskCommit): void | Promise<void>
}

/** A context with a state of its own for each batch. */
export interface TaskContextFactory<Transaction> {
  /** Like the name of a context. */
  readonly name?: string
  /** Called for each batch before the first step. An error fails the batch. */
  open(batch: ContextBatch): TaskContext<Transaction>
}

/** A batch, as a context sees it before the first step. */
export interface ContextBatch {
  readonly topic: string
  readonly tasks: readonly HeldTask[]
  readonly supplement: TaskSupplement
}

/** A completion that is committed, with its decisions. */
export interface TaskCommit {
  readonly completion: Completion
  readonly decisions: Decisions
  /** Wakes another topic of this node, as there may be work. */
  wake(topic: string): void
}
