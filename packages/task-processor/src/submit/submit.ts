import { AsyncLocalStorage } from 'node:async_hooks'
import {
  checkInteger,
  checkNames,
  checkTopic,
  isPassing,
  isTaskError,
  TaskError,
  taskLimits,
  verbOptions,
} from '@taskstream/task-api'
import type { Execution, PushedTask, PushOptions, TaskCreation, TaskSink, TransactionSource } from '@taskstream/task-api'
import { warn } from '../core/listener.ts'

export interface SubmitterOptions<Transaction> {
  readonly repository: Pick<TaskSink<NoInfer<Transaction>, Execution>, 'push'>
  readonly transactions: TransactionSource<Transaction>
  /** Called with each topic that something was pushed to, once that is committed. */
  readonly onCommitted?: (topic: string) => void
  /** Creations that may wait to be pushed, 1 to 10 000 000. Default 100 000: then a submit waits before it is taken in. */
  readonly pending?: number
}

/** What one caller submits. */
interface Submission {
  readonly topic: string
  readonly creations: readonly (string | TaskCreation)[]
  readonly options: PushOptions
  readonly resolve: (pushed: PushedTask[]) => void
  readonly reject: (error: unknown) => void
}

/** Submissions that one statement pushes. */
interface Push extends Pick<Submission, 'topic' | 'options'> {
  readonly submissions: Submission[]
  readonly creations: (string | TaskCreation)[]
}

/**
 * Pushes without a transaction of the caller's own, many at a time: while one transaction is under way, others gather for the next. Each
 * submission has its own outcome, as if it had been pushed alone, in the order of the calls.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * await using submitter = new Submitter({ repository: tasks, transactions: pgTransactions(pool) })
 * const [task] = await submitter.submit('invoices', { identifier: 'inv-1' })
 */
export class Submitter<Transaction> implements AsyncDisposable {
  readonly #options: SubmitterOptions<Transaction>
  readonly #limit: number
  #waiting: Submission[] = []
  /** Creations that are waiting, or under way. */
  #pending = 0
  /** Who waits for room, in order. */
  readonly #outside: { readonly count: number; readonly enter: () => void }[] = []
  #running: Promise<void> | undefined
  /** What many share is no part of the context of the one who happens to come first. */
  readonly #detached = AsyncLocalStorage.snapshot()
  #closed = false

  constructor(options: SubmitterOptions<Transaction>) {
    const { pending = 100_000 } = options
    checkInteger('pending', pending, 1, 10_000_000)
    this.#options = options
    this.#limit = pending
  }

  /**
   * Pushes, and resolves once that is committed. A commit whose outcome is unknown rejects as DATABASE_UNAVAILABLE: creations with an
   * `externalId` can be submitted again.
   *
   * @throws TaskError as `push`; LIFECYCLE when the submitter is closed; what the database throws, for all that went with it
   */
  async submit(
    topic: string,
    creations: string | TaskCreation | Iterable<string | TaskCreation>,
    options: PushOptions = {},
  ): Promise<PushedTask[]> {
    checkTopic(topic)
    checkNames(verbOptions.push, options)
    const own = typeof creations === 'object' && Symbol.iterator in creations ? [...creations] : [creations]
    checkInteger('the number of creations', own.length, 0, taskLimits.batchSize)
    if (this.#options.transactions.inside) {
      // It would wait for the transaction that waits for it.
      const message = 'Something was submitted inside a transaction on the only connection: push it in that transaction instead'
      throw new TaskError('LIFECYCLE', message, { topic })
    }
    await this.#enter(own.length)
    const { promise, resolve, reject } = Promise.withResolvers<PushedTask[]>()
    this.#waiting.push({ topic, creations: own, options, resolve, reject })
    this.#running ??= this.#detached(() => this.#run()).finally(() => (this.#running = undefined))
    return promise.finally(() => this.#leave(own.length))
  }

  /** Takes in no more, and resolves when all is pushed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    // Whoever waited at the door has not been taken in.
    for (const { enter } of this.#outside.splice(0)) enter()
    await this.#running
  }

  /** Waits for room, behind those who wait already. */
  async #enter(count: number): Promise<void> {
    if (this.#outside.length > 0 || !this.#hasRoom(count)) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#outside.push({ count, enter: resolve })
      await promise
    } else this.#pending += count
    if (this.#closed) throw new TaskError('LIFECYCLE', 'The submitter is closed: nothing more can be submitted')
  }

  #leave(count: number): void {
    this.#pending -= count
    for (let next = this.#outside[0]; next && this.#hasRoom(next.count); next = this.#outside[0]) {
      this.#pending += next.count
      this.#outside.shift()
      next.enter()
    }
  }

  /** More at once than there ever is room for come in alone. */
  #hasRoom(count: number): boolean {
    return this.#pending === 0 || this.#pending + count <= this.#limit
  }

  async #run(): Promise<void> {
    // Whoever submits in the same turn goes along.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const submissions = this.#waiting
      this.#waiting = []
      await this.#push(submissions)
    }
  }

  /** Never rejects. */
  async #push(submissions: readonly Submission[]): Promise<void> {
    let written = false
    let results: ReadonlyMap<Submission, PushedTask[]>
    const pushes = together(submissions)
    // One push that only appends is a single statement.
    const { transactions } = this.#options
    const single = pushes.length === 1 && appends(pushes[0]!) ? transactions.autocommit : undefined
    try {
      results = await (single ?? transactions)(async (transaction) => {
        written = false
        const pushed = await this.#pushAll(transaction, pushes)
        written = true
        return pushed
      })
    } catch (error) {
      // Not written for certain, because of one of them: each is tried alone, and only that one fails.
      const unwritten = single ? refusals.some((code) => isTaskError(error, code)) : !written && isTaskError(error)
      if (unwritten && submissions.length > 1 && !isPassing(error)) {
        for (const submission of submissions) await this.#push([submission])
      } else {
        for (const submission of submissions) submission.reject(isUnknown(error) ? unknownOutcome(error) : error)
      }
      return
    }
    for (const submission of submissions) submission.resolve(results.get(submission) ?? [])
    for (const topic of new Set(submissions.map((submission) => submission.topic))) this.#committed(topic)
  }

  #committed(topic: string): void {
    try {
      this.#options.onCommitted?.(topic)
    } catch (error) {
      warn("A submitter's onCommitted", error)
    }
  }

  async #pushAll(transaction: Transaction, pushes: readonly Push[]): Promise<Map<Submission, PushedTask[]>> {
    const results = new Map<Submission, PushedTask[]>()
    for (const { topic, options, creations, submissions } of pushes) {
      const pushed: PushedTask[] = await this.#options.repository.push(transaction, topic, creations, options)
      // Alone, it is given whatever came of it: a push that deletes has no task for what it left out.
      const [alone] = submissions.length === 1 ? submissions : []
      if (alone) results.set(alone, pushed)
      let from = 0
      for (const submission of alone ? [] : submissions)
        results.set(submission, pushed.slice(from, (from += submission.creations.length)))
    }
    return results
  }
}

function isUnknown(error: unknown): error is TaskError {
  return isTaskError(error, 'DATABASE_BUSY') && error.data['outcome'] === 'unknown'
}

function unknownOutcome(error: TaskError): TaskError {
  return new TaskError('DATABASE_UNAVAILABLE', error.message, error.data, { cause: error })
}

/** What a push is refused for before it writes anything. */
const refusals = ['ARGUMENT_INVALID', 'TOPIC_UNKNOWN'] as const

/** Submissions in as few statements as give the outcomes that one statement each would have given. */
function together(submissions: readonly Submission[]): Push[] {
  const pushes: Push[] = []
  /** The last push of each topic: what comes later may not overtake it. */
  const last = new Map<string, Push>()
  for (const submission of submissions) {
    const { topic, options, creations } = submission
    let push = last.get(topic)
    // Where older tasks give way, the first of two pushed together would be redundant from the start.
    if (!push || !appends(push) || !appends(submission) || push.creations.length + creations.length > taskLimits.batchSize) {
      push = { topic, options, submissions: [], creations: [] }
      pushes.push(push)
      last.set(topic, push)
    }
    push.submissions.push(submission)
    for (const creation of creations) push.creations.push(creation)
  }
  return pushes
}

function appends({ options }: Pick<Submission, 'options'>): boolean {
  return (options.insertion ?? 'append') === 'append'
}
