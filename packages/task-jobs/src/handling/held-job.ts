import type { HeldTask, TaskDecision } from '@taskstream/task-api'
import type { AnyJob, JobOf } from '../definitions/define-job.ts'
import type { NeededResults } from '../definitions/needs.ts'
import type { JobTags } from '../definitions/task-settings.ts'
import type { PushArguments } from '../jobs/push-job.ts'

/** What `commit` returns. A handler returns it. */
export class JobCommit<Transaction = never> {
  readonly work: (transaction: Transaction) => unknown

  constructor(work: (transaction: Transaction) => unknown) {
    this.work = work
  }
}

/** What `next` returns. A handler returns it, or its `commit` does. */
export class JobContinuation {
  readonly job: AnyJob
  readonly arguments: PushArguments<unknown>

  constructor(job: AnyJob, given: PushArguments<unknown>) {
    this.job = job
    this.arguments = given
  }
}

/** What a handler may return: the output, if the job is defined with one. A job that is defined with `next` goes on, or decides otherwise. */
export type JobOutcome<Next extends string, Returned> = [Returned] extends [void]
  ? [Next] extends [never]
    ? unknown
    : JobContinuation | TaskDecision
  : Returned | JobContinuation | TaskDecision

/** A job that is being handled, and what its handler can do. None of the functions uses `this`. */
export interface HeldJob<
  Transaction,
  Name extends string = string,
  Input = unknown,
  Next extends string = never,
  Returned = void,
  Needs = void,
> {
  readonly name: Name
  /** The caller's own name for the job, or `@` and its sequence. */
  readonly id: string
  /** What the job is about; undefined if it is defined without a key. */
  readonly key: string | undefined
  readonly input: Input
  /** What the jobs that this one needs have returned, by name; undefined if it is defined without needs. */
  readonly needs: [Needs] extends [void] ? undefined : NeededResults<Needs>
  /** How often the job was tried, this time included. */
  readonly tries: number
  /** How often the job was taken, this time included. The number never decreases. */
  readonly attempt: number
  readonly maxTries: number | undefined
  readonly deadline: Date | undefined
  readonly tags: JobTags
  /** Whether the job is defined with an output. For handlers that serve jobs of any definition. */
  readonly hasOutput: boolean
  /**
   * Aborted when the handler should let go: its time is up (TASK_TIMEOUT), the job was cancelled (TASK_LOST), the lease is lost (LEASE_LOST), or the
   * process is stopping (SHUTDOWN).
   */
  readonly signal: AbortSignal
  /** The task of the job. */
  readonly task: HeldTask
  /**
   * Does work in the transaction that completes the job: both are committed, or neither, and only if the job is still held. Return what this returns.
   * What the work returns counts as if the handler returned it. The work may run again after a deadlock, so it only writes to the transaction; do
   * everything else before.
   *
   * @example
   * stream.handle(invoice, ({ input, commit }) => commit(async (tx) => {
   *   await tx.query('insert into invoice (order_id) values ($1)', [input.id])
   * }))
   */
  readonly commit: (
    work: (transaction: Transaction) => JobOutcome<Next, Returned> | Promise<JobOutcome<Next, Returned>>,
  ) => JobCommit<Transaction>
  /**
   * Goes on with another job, which is pushed in the transaction that completes this one. Return what this returns. The other job gets the tags and
   * the priority of this one, unless it is given others.
   */
  readonly next: <To extends Next | Name, Given, More>(
    job: JobOf<To, Given, More>,
    ...given: PushArguments<Given, More>
  ) => JobContinuation
  /**
   * Gives this try its whole `timeoutMs` once more, from now on, but no more than `maxRunMs` in all.
   *
   * @throws the signal's reason if the handler was asked to let go
   */
  readonly extend: () => void
}

/** Handles one job. What it throws counts as a failed try. */
export type JobHandler<Transaction, Name extends string, Input, Next extends string, Returned = void, Needs = void> = (
  job: HeldJob<Transaction, Name, Input, Next, Returned, Needs>,
) => JobCommit<Transaction> | JobOutcome<Next, Returned> | Promise<JobCommit<Transaction> | JobOutcome<Next, Returned>>
