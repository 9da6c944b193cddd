import { AsyncLocalStorage } from 'node:async_hooks'
import { channel } from 'node:diagnostics_channel'
import {
  checkInteger,
  checkNames,
  checkTopic,
  isPassing,
  isTaskError,
  listOf,
  submitChannel,
  TaskError,
  taskLimits,
  verbOptions,
} from '@taskstream/task-api'
import type {
  Execution,
  PushedTask,
  PushOptions,
  SubmitCall,
  TaskCreation,
  TaskSink,
  TransactionSource,
} from '@taskstream/task-api'
import { warn } from '../core/listener.ts'

export interface SubmitterOptions<Transaction> {
  readonly repository: Pick<TaskSink<NoInfer<Transaction>, Execution>, 'push'>
  readonly transactions: TransactionSource<Transaction>
  /** Called after a commit with each topic to which tasks were pushed. */
  readonly onCommitted?: (topic: string) => void
  /** The most creations that wait or are being pushed, 1 to 10 000 000. Default 100 000. Further submissions wait for room. */
  readonly pending?: number
}

const calls = channel(submitChannel)

/** The creations of one call of `submit`. */
interface Submission {
  readonly topic: string
  readonly creations: readonly (string | TaskCreation)[]
  readonly options: PushOptions
  readonly resolve: (pushed: PushedTask[]) => void
  readonly promise: Promise<PushedTask[]>
  readonly reject: (error: unknown) => void
}

/** Submissions that one statement pushes. */
interface Push extends Pick<Submission, 'topic' | 'options'> {
  readonly submissions: Submission[]
  readonly creations: (string | TaskCreation)[]
}

/**
 * Pushes tasks without a transaction of the caller. While one transaction is under way, further submissions gather for the next. Each submission has its
 * own outcome, as if the calls had been pushed one by one in their order.
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
  /** How many creations wait or are being pushed. */
  #pending = 0
  /** Submissions that wait for room, in order. */
  readonly #outside: Submission[] = []
  #running: Promise<void> | undefined
  /** Runs work outside the AsyncLocalStorage context of the caller that happens to start it, as many callers share the work. */
  readonly #detached = AsyncLocalStorage.snapshot()
  #closed = false

  constructor(options: SubmitterOptions<Transaction>) {
    const { pending = 100_000 } = options
    checkInteger('pending', pending, 1, 10_000_000)
    this.#options = options
    this.#limit = pending
  }

  /**
   * Pushes tasks, and resolves once they are committed. Rejects with DATABASE_UNAVAILABLE if the outcome of the commit is unknown. Creations with an
   * `externalId` can then be submitted again.
   *
   * @throws TaskError as `push`; LIFECYCLE if the submitter is closed; the error of the database, which all submissions of the transaction get
   */
  async submit(
    topic: string,
    creations: string | TaskCreation | Iterable<string | TaskCreation>,
    options: PushOptions = {},
  ): Promise<PushedTask[]> {
    checkTopic(topic)
    checkNames(verbOptions.push, options)
    const isList = typeof creations === 'object' && creations !== null && Symbol.iterator in creations
    const given = isList ? listOf('creations', creations) : [creations]
    if (this.#options.transactions.inside) {
      // The submission and the caller's transaction would wait for each other.
      const message = 'Something was submitted inside a transaction on the only connection: push it in that transaction instead'
      throw new TaskError('LIFECYCLE', message, { topic, inside: true })
    }
    if (this.#closed) throw closed()
    const own = calls.hasSubscribers ? toldOf(topic, given) : given
    const { promise, resolve, reject } = Promise.withResolvers<PushedTask[]>()
    const submission = { topic, creations: own, options, promise, resolve, reject }
    if (this.#outside.length > 0 || !this.#hasRoom(own.length)) this.#outside.push(submission)
    else this.#enter(submission)
    return promise
  }

  /** Refuses further submissions, and resolves when all others are pushed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    for (const { reject } of this.#outside.splice(0)) reject(closed())
    await this.#running
  }

  /** Takes a submission in at once, so that none comes between its admission and its place in the queue. */
  #enter(submission: Submission): void {
    const { length } = submission.creations
    const leave = (): void => this.#leave(length)
    this.#pending += length
    submission.promise.then(leave, leave)
    this.#waiting.push(submission)
    this.#running ??= this.#detached(() => this.#run())
  }

  #leave(count: number): void {
    this.#pending -= count
    for (let next = this.#outside[0]; next && this.#hasRoom(next.creations.length); next = this.#outside[0]) {
      this.#outside.shift()
      this.#enter(next)
    }
  }

  /** Tells whether there is room. A submission that is larger than the limit gets in when nothing else is pending. */
  #hasRoom(count: number): boolean {
    return this.#pending === 0 || this.#pending + count <= this.#limit
  }

  async #run(): Promise<void> {
    // Submissions of the same turn of the event loop share the first transaction.
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const submissions = this.#waiting
      this.#waiting = []
      await this.#push(submissions)
    }
    // A submission that comes after the last look must begin a run of its own.
    this.#running = undefined
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
      // Certainly nothing was written, because of one submission, or because together they lock what others lock in another order. Each is tried
      // alone, so that only that one fails.
      const unwritten = single ? refusals.some((code) => isTaskError(error, code)) : !written && isTaskError(error)
      const isOver = isPassing(error) && !isTaskError(error, 'TRANSACTION_CONFLICT')
      if (unwritten && submissions.length > 1 && !isOver) {
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
      // A single submission gets the whole result, as a push that deletes may return fewer tasks than creations.
      const [alone] = submissions.length === 1 ? submissions : []
      if (alone) results.set(alone, pushed)
      let from = 0
      for (const submission of alone ? [] : submissions)
        results.set(submission, pushed.slice(from, (from += submission.creations.length)))
    }
    return results
  }
}

/** The push itself runs in a context of nobody, so whoever traces must be told now. */
function toldOf(topic: string, creations: SubmitCall['creations']): SubmitCall['creations'] {
  const call: SubmitCall = { topic, creations }
  calls.publish(call)
  return call.creations
}

function closed(): TaskError {
  return new TaskError('LIFECYCLE', 'The submitter is closed: nothing more can be submitted')
}

function isUnknown(error: unknown): error is TaskError {
  return isTaskError(error, 'DATABASE_BUSY') && error.data['outcome'] === 'unknown'
}

function unknownOutcome(error: TaskError): TaskError {
  return new TaskError('DATABASE_UNAVAILABLE', error.message, error.data, { cause: error })
}

/** The errors after which a push has certainly written nothing. */
const refusals = ['ARGUMENT_INVALID', 'TOPIC_UNKNOWN', 'TRANSACTION_CONFLICT'] as const

/** Joins submissions into as few pushes as possible, with the same outcomes as one push for each submission. */
function together(submissions: readonly Submission[]): Push[] {
  const pushes: Push[] = []
  /** The last push of each topic. Later submissions must not overtake it. */
  const last = new Map<string, Push>()
  for (const submission of submissions) {
    const { topic, options, creations } = submission
    let push = last.get(topic)
    // Unless both only append, they are not joined: the first would be redundant from the start.
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
