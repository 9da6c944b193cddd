import type { Completion, HeldTask, TaskDecision, TaskError } from '@taskstream/task-api'
import type { Clock } from './clock.ts'

/** The decisions of a batch, by task. */
export type Decisions = ReadonlyMap<HeldTask, TaskDecision>

/** The context that a handler gets beside its tasks. */
export interface HandlerContext<Transaction> {
  readonly topic: string
  /**
   * Aborted when the handler should let go of its tasks. `reason` is a TaskError: LEASE_LOST if others may have taken the tasks, TASK_LOST if all of them
   * were cancelled or taken, TASK_TIMEOUT if the handler took too long, or SHUTDOWN if the node is stopping and its grace is over. The handler may still
   * return the decisions that it has made; tasks without a decision are handed back. Whatever the handler does, the repository refuses decisions for
   * tasks that are no longer held.
   */
  readonly signal: AbortSignal
  /** The signal's reason once it is aborted. Ask this before each task, as it is cheaper than `signal`, which is made on first access. */
  readonly aborted: TaskError | undefined
  /**
   * Completes the batch, and resolves once it is committed. Call it at most once.
   *
   * With a function, one transaction has the completion and the handler's own writes. The function gets the tasks that are still held, which are locked,
   * writes for those only, and returns their decisions. After a deadlock, or if the database went away or is short of something, the function runs
   * again in a new transaction. It runs once more, with messages in ASCII, if its decisions cannot be stored. Effects outside the transaction may
   * therefore happen twice.
   *
   * With a Map of decisions, one statement less is sent. A decision that cannot be written then costs no other task: the rest is written before the
   * call rejects.
   *
   * @throws TaskError LIFECYCLE when called again; TASK_LOST if the batch was taken from the handler; the error of the function, unless the database is
   * only busy; the error that kept the database from writing a task as decided
   */
  complete(
    decide: Decisions | ((transaction: Transaction, held: readonly HeldTask[]) => Decisions | Promise<Decisions>),
  ): Promise<Completion>
  /** Makes a decision of an error: another try if the retry policy allows one, and otherwise a failure. */
  failed(task: HeldTask, error: unknown): TaskDecision
  /** Says which task the handler is working on. The events `onStuck` and `onBlocked` have this task as `at`. */
  at(task: HeldTask): void
  /**
   * Reports that a task's handler did not let go when its time was up, and that the task is decided without it.
   *
   * @param handled settles when the handler has ended after all
   * @param ofBatch how many such handlers a batch has at work at a time. Default: 1
   */
  stuck(task: HeldTask, heldMs: number, handled?: PromiseLike<unknown>, ofBatch?: number): void
  /** Whether so many handlers of the topic hang that no more should begin: put tasks off that were not begun. */
  readonly isHung: boolean
  /**
   * Tells the listener of an error that the handler has not thrown, as `onError` with the activity `handle`.
   *
   * @param decisions what becomes of the tasks that the error is about. The handler still has to return these decisions
   */
  report(error: unknown, decisions: Decisions): void
  /** The clock of the node, for pauses in handlers that tests may want to skip. */
  readonly clock: Clock
  /** Wakes another topic of this node, as there may be work. Call it once a push to that topic is committed. */
  wake(topic: string): void
}

/**
 * Handles a batch: returns decisions, or completes by `context.complete`. An error fails every task of the batch, or retries it by the policy. A task
 * without a decision fails. A handler may return nothing only if it has called `complete` or was asked to let go; otherwise its tasks fail with
 * DECISIONS_MISSING.
 */
export type BatchHandler<Transaction> = (
  batch: readonly HeldTask[],
  context: HandlerContext<Transaction>,
) => Decisions | void | Promise<Decisions | void>

/** A handler with a state, such as a buffer. It is opened when a topic begins to be processed, and closed when that ends. */
export interface TaskHandlerFactory<Transaction> {
  /** Opens the handler for a topic. @throws an error if the handler cannot work, and then the topic is not processed */
  open(topic: string): OpenHandler<Transaction>
}

/** What a handler handles at a time, without what waits in it. */
export interface HandlerSlots {
  readonly busy: number
  readonly concurrency: number
}

/** A handler that is open for one topic. */
export interface OpenHandler<Transaction> {
  readonly handle: BatchHandler<Transaction>
  /**
   * How many batches the handler takes at a time, waiting ones included. No more are polled. Default: the topic's `concurrency`. It is read before each
   * poll, so it may change.
   */
  readonly capacity?: number
  /** How many batches it handles at this moment, and how many at most, as its node tells others. Default: all that it has, and as many as it takes. */
  readonly slots?: HandlerSlots
  /** Called when no more batches come. The handler must still settle the batches that it has. */
  close?(): void | Promise<void>
}

export type TaskHandler<Transaction> = BatchHandler<Transaction> | TaskHandlerFactory<Transaction>

/** Opens a handler for a topic. A plain function needs no opening. */
export function openHandler<Transaction>(handler: TaskHandler<Transaction>, topic: string): OpenHandler<Transaction> {
  return typeof handler === 'function' ? { handle: handler } : handler.open(topic)
}
