import type { Completion, HeldTask, TaskDecision, TaskError } from '@taskstream/task-api'
import type { Clock } from './clock.ts'

/** What is decided of each task of a batch. */
export type Decisions = ReadonlyMap<HeldTask, TaskDecision>

/** What a handler is given beside its tasks. */
export interface HandlerContext<Transaction> {
  readonly topic: string
  /**
   * Aborted when the tasks should be let go of: `reason` is a TaskError, LEASE_LOST when others may have taken them over, TASK_TIMEOUT
   * when the handler has taken too long, or SHUTDOWN when the node is stopping and its grace is over. What the handler has decided by
   * then it may still return: the tasks that it leaves out are handed back. A courtesy: what is committed in the end is decided by the
   * repository.
   */
  readonly signal: AbortSignal
  /** The signal's reason, once it is aborted: to be asked before each task, without having a signal made. */
  readonly aborted: TaskError | undefined
  /**
   * Completes the batch in one transaction with the handler's own writes. `decide` is given what is still held, locked: it writes for
   * those tasks and no others, and returns their decisions. All or nothing. Called at most once; the batch is completed, and committed,
   * when this resolves. Decisions that need no writes are given as they are, which takes one statement less.
   * After a deadlock, or when the database went away or is short of something, `decide` is run again in a new transaction, for what is held
   * then; once more, with messages in ASCII, when what it decided cannot be stored. What it does outside its transaction, it must be able to
   * do twice. Of decisions that are given as they are, one that cannot be written costs no other; it rejects when that has been seen to.
   *
   * @throws TaskError LIFECYCLE when called again, TASK_LOST when the batch was taken from the handler; what `decide` throws, unless it is the
   * database's word that it is busy; what kept the database from writing a task as it was decided
   */
  complete(
    decide: Decisions | ((transaction: Transaction, held: readonly HeldTask[]) => Decisions | Promise<Decisions>),
  ): Promise<Completion>
  /** What an error means for a task: another try, if the retry policy has one left, and otherwise a failure. */
  failed(task: HeldTask, error: unknown): TaskDecision
  /** Says which task the handler is at: who is told that it is stuck, or blocks the event loop, is told this too. */
  at(task: HeldTask): void
  /** Reports that a task's handler did not let go when its time was up, and that the task is decided without it. */
  stuck(task: HeldTask, heldMs: number): void
  /** What time is, for pauses of the handler's own that a test may want to pass. */
  readonly clock: Clock
  /** There may be work in another topic of this node: to be called once what was pushed to it is committed. */
  wake(topic: string): void
}

/**
 * Handles a batch, outside any transaction: returns decisions, or completes by `context.complete`. What it throws fails every task of
 * the batch, or retries it by the policy; a task without a decision fails. Nothing returned is for handlers that have called `complete`, or were
 * asked to let go: from any other it is an error, DECISIONS_MISSING.
 */
export type BatchHandler<Transaction> = (
  batch: readonly HeldTask[],
  context: HandlerContext<Transaction>,
) => Decisions | void | Promise<Decisions | void>

/** A handler with a state of its own, such as a buffer: opened whenever a topic begins to be processed, and closed when it ends. */
export interface TaskHandlerFactory<Transaction> {
  /** @throws what is wrong with the handler: the topic is not processed then */
  open(topic: string): OpenHandler<Transaction>
}

/** What is opened for one topic. */
export interface OpenHandler<Transaction> {
  readonly handle: BatchHandler<Transaction>
  /** How many batches it takes at a time, those that it keeps waiting included: what is polled at most. Default: what the topic says. */
  readonly capacity?: number
  /** No more batches will come. Those it has been given are still to be settled, one way or another. */
  close?(): void | Promise<void>
}

export type TaskHandler<Transaction> = BatchHandler<Transaction> | TaskHandlerFactory<Transaction>

/** A handler ready for the batches of a topic. */
export function openHandler<Transaction>(handler: TaskHandler<Transaction>, topic: string): OpenHandler<Transaction> {
  return typeof handler === 'function' ? { handle: handler } : handler.open(topic)
}
