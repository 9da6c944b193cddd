import type { HeldTask, TaskDecision } from '@taskstream/task-api'
import type { JobTags } from '../definitions/task-settings.ts'

/** A task of a typed topic that is being handled. Its input is checked already. */
export interface TopicTask<Input = unknown> {
  /** The caller's own name for the task, or `@` and its sequence. */
  readonly id: string
  /** What the task is about: its identifier. */
  readonly key: string
  readonly input: Input
  /** How often the task was tried, this time included. */
  readonly tries: number
  /** How often the task was taken, this time included. The number never decreases. */
  readonly attempt: number
  readonly maxTries: number | undefined
  readonly deadline: Date | undefined
  readonly tags: JobTags
  /** The task as the database has it. */
  readonly task: HeldTask
}

/** What is decided of the tasks of a batch. A task that is left out fails. */
export type TopicDecisions<Input> = ReadonlyMap<TopicTask<Input>, TaskDecision>

/** What `complete` returns. A handler returns it. */
export class TopicCompletion<Transaction = never, Input = unknown> {
  readonly work: TopicWork<Transaction, Input>

  constructor(work: TopicWork<Transaction, Input>) {
    this.work = work
  }
}

/** Writes in the transaction that completes a batch. */
export type TopicWork<Transaction, Input> = (
  transaction: Transaction,
  held: readonly TopicTask<Input>[],
) => TopicOutcome<Input> | Promise<TopicOutcome<Input>>

/** Nothing: all tasks succeed, unless the handler was asked to let go. A decision: it is that of all tasks. A map: it has a decision for each task. */
export type TopicOutcome<Input> = TopicDecisions<Input> | TaskDecision | void

/** What the handler of a typed topic can do. None of the functions uses `this`. */
export interface TopicContext<Transaction, Input = unknown> {
  /**
   * Aborted when the handler should let go: its time is up (TASK_TIMEOUT), all its tasks were cancelled (TASK_LOST), the lease is lost (LEASE_LOST), or
   * the process is stopping (SHUTDOWN). A handler that returns nothing then has not succeeded: its tasks are handed back, or tried again if its time
   * was up.
   */
  readonly signal: AbortSignal
  /**
   * Does work in the transaction that completes the batch: both are committed, or neither. Return what this returns. The work is given the tasks that
   * are still held, and writes for those only; what it returns counts as if the handler returned it. The work may run again after a deadlock, so it only
   * writes to the transaction; do everything else before.
   *
   * @example
   * handler: (_, { complete }) => complete(async (tx, held) => {
   *   for (const { input } of held) await tx.query('insert into price values ($1, $2)', [input.symbol, input.price])
   * })
   */
  readonly complete: (work: TopicWork<Transaction, Input>) => TopicCompletion<Transaction, Input>
  /** Makes a decision of an error for one task: another try if `retry` allows one, and otherwise a failure. */
  readonly failed: (task: TopicTask<Input>, error: unknown) => TaskDecision
}

/**
 * Handles a batch. An error fails each of its tasks, or retries it by the policy of the topic. Tasks whose input does not fit are not among `held`: each
 * of them fails by itself, with the reason `terminated`. Those of a later version wait by themselves for a newer program.
 */
export type TopicHandler<Transaction, Input> = (
  held: readonly TopicTask<Input>[],
  context: TopicContext<Transaction, Input>,
) =>
  | TopicCompletion<Transaction, Input>
  | TopicOutcome<Input>
  | Promise<TopicCompletion<Transaction, Input> | TopicOutcome<Input>>
