import { checkInteger, checkNames, checkText, invalid, isTaskError, TaskError } from '@taskstream/task-api'
import type {
  Cancellation,
  Execution,
  Outcome,
  PageOptions,
  PushedTask,
  PushOptions,
  Rescheduling,
  TaskInfo,
} from '@taskstream/task-api'
import { creationOf, infoOf, InProcess, jobHandler, refOf, taskSelectorOf } from '@taskstream/task-jobs'
import type { AnyJob, Done, Job, JobHandler, JobInfo, JobRef, JobSelector, PushArguments } from '@taskstream/task-jobs'
import { stopOnSignal, TaskNode } from '@taskstream/task-processor'
import type { StopOptions, StopReport } from '@taskstream/task-processor'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { consoleListener } from './console-listener.ts'
import { checked, reachable } from './definitions.ts'
import { given } from './given.ts'
import { JobTimers } from './job-timers.ts'
import { after } from './outcome.ts'
import { inWords } from './words.ts'
import { handleNames, startNames, streamNames } from './stream-options.ts'
import type { HandleOptions, PushManyOptions, StartOptions, StreamDriver, StreamOptions } from './stream-options.ts'

/**
 * Jobs in the database of a driver: pushed in your own transactions, and handled by this process or others. Each driver has an entry that makes a
 * stream, such as `taskstream/pg`.
 *
 * @example
 * const stream = taskstream(new pg.Pool())
 * stream.handle(email, ({ input, signal }) => smtp.send(input, { signal }))
 * await stream.start({ stopOn: ['SIGTERM', 'SIGINT'] })
 * await stream.submit(email, { to: 'a@example.org', subject: 'Hello' })
 */
export class Stream<Transaction, E extends Execution = 'async'> implements AsyncDisposable {
  /** The tasks under the jobs: topics, batches, filters, counts. */
  readonly tasks: SqlTaskRepository<Transaction, E>
  /** Makes handlers and topics of your own, beside the jobs. */
  readonly node: TaskNode<Transaction>
  readonly #driver: StreamDriver<Transaction, E>
  readonly #options: StreamOptions<Transaction>
  readonly #process = new InProcess()
  readonly #handled = new Map<string, AnyJob>()
  readonly #timers: JobTimers<Transaction, E>
  #migrated: Promise<unknown> | undefined
  #state: 'new' | 'starting' | 'started' | 'stopped' = 'new'

  /** @throws TaskError ARGUMENT_INVALID */
  constructor(driver: StreamDriver<Transaction, E>, options: StreamOptions<Transaction> = {}) {
    checkNames(streamNames, options)
    const { migrate = true, application, listener = consoleListener, ...nodeOptions } = options
    if (typeof migrate !== 'boolean') throw invalid('migrate', migrate, 'must be true or false')
    if (application !== undefined) checkText('application', application, 200)
    this.#driver = driver
    this.#options = options
    this.tasks = driver.repository
    this.node = new TaskNode<Transaction>({
      ...nodeOptions,
      listener,
      repository: driver.repository,
      transactions: driver.transactions,
      ...given({ notifier: driver.notifier }),
    })
    this.#timers = new JobTimers(driver, options, (topic) => this.node.wake(topic))
  }

  /**
   * Runs `work` in a transaction, which commits when `work` returns and rolls back when it throws. After a deadlock, `work` runs again. Jobs that it
   * pushed start at once after the commit.
   *
   * @throws the error of `work`
   */
  async transaction<Result>(work: (transaction: Transaction) => Result | Promise<Result>): Promise<Result> {
    let done: Done | undefined
    const result = await this.#driver.transactions<Result>((transaction) => {
      done = this.#process.begin(transaction)
      return work(transaction)
    })
    this.#process.committed(done!, (topic) => this.node.wake(topic))
    return result
  }

  /**
   * Pushes a job in your own transaction: it exists if, and only if, the transaction commits. The topics of jobs that this process does not handle
   * must be known: see `prepare`.
   *
   * @throws TaskError INPUT_INVALID, ARGUMENT_INVALID, TOPIC_UNKNOWN; nothing was written
   * @example
   * await stream.push(tx, email, { to: 'a@example.org', subject: 'Hello' }, { delayMs: 60_000 })
   */
  push<Name extends string, Given>(
    transaction: Transaction,
    job: Job<Name, Given, unknown, string>,
    ...[input, options]: PushArguments<Given>
  ): Outcome<E, JobRef<Name>> {
    const creation = creationOf(checked(job), input, options)
    return after(this.#push(transaction, job, [creation]), ([pushed]) => refOf(job.name, pushed!, creation))
  }

  /**
   * Pushes several jobs of one definition, each given as its input and options.
   *
   * @param options `insertion` says what becomes of older jobs of the same keys: `append` (default), `supersede`, `replace`
   * @throws TaskError as `push`; TOPIC_NOT_KEYED for an insertion without a key
   * @example
   * await stream.pushMany(tx, page, urls.map((url) => [{ url }]))
   */
  pushMany<Name extends string, Given>(
    transaction: Transaction,
    job: Job<Name, Given, unknown, string>,
    items: readonly PushArguments<Given>[],
    options: PushManyOptions = {},
  ): Outcome<E, JobRef<Name>[]> {
    // Under `delete` some jobs would have no reference.
    if ((options.insertion as string | undefined) === 'delete')
      throw invalid('insertion', 'delete', 'must be append, supersede or replace')
    const creations = items.map(([input, each]) => creationOf(checked(job), input, each))
    return after(this.#push(transaction, job, creations, options), (pushed) =>
      pushed.map((one, index) => refOf(job.name, one, creations[index]!)),
    )
  }

  /**
   * Pushes a job in a transaction of its own, together with others that are submitted at the same time. Resolves after the commit.
   *
   * @throws TaskError as `push`; LIFECYCLE if the stream was stopped; errors of the database
   */
  async submit<Name extends string, Given>(
    job: Job<Name, Given, unknown, string>,
    ...[input, options]: PushArguments<Given>
  ): Promise<JobRef<Name>> {
    const creation = creationOf(checked(job), input, options)
    if (this.#isStopped) throw new TaskError('LIFECYCLE', 'The stream was stopped: make a new one')
    const [pushed] = await this.node.submit(job.name, [creation]).catch((error: unknown) => {
      throw inWords(job.name, error)
    })
    return refOf(job.name, pushed!, creation)
  }

  /**
   * Handles the jobs of a definition once the stream is started. What the handler throws is a failed try, which `retry` may repeat.
   *
   * @throws TaskError ARGUMENT_INVALID; LIFECYCLE if the job is handled already, or the stream was started
   */
  handle<Name extends string, Given, Input, Next extends string>(
    job: Job<Name, Given, Input, Next>,
    handler: JobHandler<Transaction, Name, Input, Next>,
    options: HandleOptions<Transaction> = {},
  ): this {
    checked(job)
    checkNames(handleNames, options)
    if (typeof handler !== 'function') throw invalid('handler', handler, `of the job "${job.name}" must be a function`)
    if (this.#state !== 'new')
      throw new TaskError('LIFECYCLE', `The job "${job.name}" must be handled before the stream starts`, { job: job.name })
    if (this.#handled.has(job.name))
      throw new TaskError('LIFECYCLE', `The job "${job.name}" is handled already`, { job: job.name })
    const { repository } = this.#driver
    const { mode = 'leased', concurrency = mode === 'transactional' ? 2 : 10, ...others } = options
    checkInteger('concurrency', concurrency, 1, 10_000)
    // A slot of a limiter, or a transaction, is for a job that is being handled.
    const ahead = mode === 'leased' && this.#options.limiter === undefined
    this.node.process(job.name, {
      share: 20,
      ...others,
      mode,
      ...(mode === 'transactional' && { concurrency }),
      size: 1,
      handler: jobHandler({ repository, process: this.#process }, job, handler, { concurrency, ahead }),
      retry: job.settings.retry,
      ...job.settings.topic,
    })
    this.#handled.set(job.name, job)
    return this
  }

  /**
   * Ends jobs that have not ended, as filtered, with the reason `cancelled`. One that is being handled is taken from its handler, which can commit
   * nothing any more.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * await stream.cancel(tx, reminder, 'order 7')
   */
  cancel<Name extends string>(
    transaction: Transaction,
    job: Job<Name, never, unknown, string>,
    selector: JobSelector<NoInfer<Name>>,
  ): Outcome<E, Cancellation> {
    return after(this.tasks.cancel(transaction, job.name, taskSelectorOf(checked(job), selector)), (cancellation) => {
      this.#process.cancelled(transaction, cancellation.taken)
      return cancellation
    })
  }

  /**
   * Moves jobs that wait to another time, or gives them another deadline or priority.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * await stream.reschedule(tx, reminder, 'order 7', { delayMs: 86_400_000 })
   */
  reschedule<Name extends string>(
    transaction: Transaction,
    job: Job<Name, never, unknown, string>,
    selector: JobSelector<NoInfer<Name>>,
    to: Rescheduling,
  ): ReturnType<SqlTaskRepository<Transaction, E>['reschedule']> {
    this.#process.pushed(transaction, job.name)
    return this.tasks.reschedule(transaction, job.name, taskSelectorOf(checked(job), selector), to)
  }

  /** Everything that is known of a job; undefined if there is no such job. @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN */
  get<Name extends string, Given>(
    transaction: Transaction,
    job: Job<Name, Given, unknown, string>,
    selector: string | JobRef<NoInfer<Name>>,
  ): Outcome<E, JobInfo<Name, Given> | undefined> {
    return after(this.#find(transaction, job, selector), (task) => task && infoOf<Name, Given>(job, task))
  }

  /**
   * Lists jobs of a definition in the order of their pushes: a hundred, or as many as `size` says. Go on with `after: last.task.sequence`.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * const failed = await stream.list(tx, invoice, { states: ['failed'] })
   */
  list<Name extends string, Given>(
    transaction: Transaction,
    job: Job<Name, Given, unknown, string>,
    options: PageOptions = {},
  ): Outcome<E, JobInfo<Name, Given>[]> {
    return after(this.tasks.page(transaction, checked(job).name, options), (page) =>
      page.map((task) => infoOf<Name, Given>(job, task)),
    )
  }

  /**
   * Has a job that has ended, or waits, tried at once, in its old place: with all its tries, and with a new deadline if its definition has one.
   *
   * @throws TaskError TASK_STATE if there is no such job, or if it is ready or being handled; ARGUMENT_INVALID, TOPIC_UNKNOWN
   * @example
   * await stream.retry(tx, invoice, 'order 7')
   */
  retry<Name extends string>(
    transaction: Transaction,
    job: Job<Name, never, unknown, string>,
    selector: string | JobRef<NoInfer<Name>>,
  ): Outcome<E, void> {
    const { name, settings } = checked(job)
    const { deadlineMs } = settings
    this.#process.pushed(transaction, name)
    return after(this.#find(transaction, job, selector), (task) => {
      if (!task) throw new TaskError('TASK_STATE', `There is no job "${name}" that is called so`, { job: name, selector })
      return after(this.tasks.recreate(transaction, name, 'reset', [task]), () => {
        if (deadlineMs === undefined) return undefined
        return after(this.tasks.reschedule(transaction, name, task.sequence, { deadlineMs }), () => undefined)
      })
    }) as Outcome<E, void>
  }

  #find(transaction: Transaction, job: AnyJob, selector: string | JobRef): Outcome<E, TaskInfo | undefined> {
    const which = taskSelectorOf(checked(job), selector) as number | { readonly externalId: string }
    return this.tasks.task(transaction, job.name, which)
  }

  /**
   * Brings the tables to the version of this release, and makes the topics of jobs known. `start` does this for the jobs that are handled, and for
   * those they go on with; a process that only pushes calls `prepare` once.
   *
   * @throws TaskError SCHEMA_*, PERMISSION_DENIED; TOPIC_DIFFERENT or TOPIC_NOT_KEYED if a job was defined with another order or without a key
   * before; errors of the database
   */
  async prepare(...jobs: readonly AnyJob[]): Promise<void> {
    jobs.forEach(checked)
    const { repository, transactions } = this.#driver
    if (this.#options.migrate ?? true) {
      this.#migrated ??= repository.migrate(transactions)
      await this.#migrated.catch((error: unknown) => {
        this.#migrated = undefined
        throw error
      })
    }
    const all = [...reachable(jobs).values()].toSorted((left, right) => (left.name < right.name ? -1 : 1))
    if (all.length === 0) return
    await transactions(async (transaction) => {
      for (const { name, settings } of all) {
        try {
          await repository.initialize(transaction, name, settings.topic)
        } catch (error) {
          throw inWords(name, error)
        }
      }
    })
  }

  /**
   * Prepares the handled jobs, and begins to handle them and to push those that have a timer. A start that fails leaves nothing running, and can be
   * repeated.
   *
   * @throws TaskError LIFECYCLE if the stream was started or stopped; errors of `prepare`, and of `TaskNode.start`
   */
  async start(options: StartOptions = {}): Promise<void> {
    checkNames(startNames, options)
    if (this.#state !== 'new')
      throw new TaskError(
        'LIFECYCLE',
        this.#state === 'stopped' ? 'The stream was stopped: make a new one' : 'The stream runs already',
      )
    const { stopOn, onStopped, ...stopOptions } = options
    this.#state = 'starting'
    await this.#start()
    if (stopOn) stopOnSignal(this, { signals: stopOn, ...given({ onStopped }), ...stopOptions })
  }

  async #start(): Promise<void> {
    try {
      await this.prepare(...this.#handled.values())
      // Timers come first, as a node that has run cannot be started again after a failure.
      await this.#timers.start(this.#handled.values())
      this.#checkGoOn()
      if (this.#handled.size > 0) await this.node.start()
      this.#checkGoOn()
      this.#state = 'started'
    } catch (error) {
      await this.#timers.stop().catch(() => {})
      // Whatever the step under way met, such as a pool that was closed after the stop.
      if (this.#isStopped) throw stoppedMeanwhile(error)
      this.#state = 'new'
      throw error
    }
  }

  get #isStopped(): boolean {
    return this.#state === 'stopped'
  }

  #checkGoOn(): void {
    if (this.#isStopped) throw stoppedMeanwhile()
  }

  /**
   * Stops in phases: no new jobs are taken, handlers get `graceMs` to end, then their signals abort. A second call gets the same report. The pool or
   * database that you gave stays open.
   *
   * @throws TaskError ARGUMENT_INVALID
   */
  async stop(options: StopOptions = {}): Promise<StopReport> {
    const stopping = this.node.stop(options)
    this.#state = 'stopped'
    await this.#timers.stop()
    const report = await stopping
    return report
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  #push(
    transaction: Transaction,
    { name }: AnyJob,
    creations: readonly ReturnType<typeof creationOf>[],
    options?: PushOptions,
  ): Outcome<E, PushedTask[]> {
    this.#process.pushed(transaction, name)
    try {
      const pushed = this.tasks.push(transaction, name, creations, options)
      if (!(pushed instanceof Promise)) return pushed
      return pushed.catch((error: unknown) => {
        throw inWords(name, error)
      }) as Outcome<E, PushedTask[]>
    } catch (error) {
      throw inWords(name, error)
    }
  }
}

function stoppedMeanwhile(cause?: unknown): TaskError {
  if (isTaskError(cause, 'LIFECYCLE')) return cause
  return new TaskError('LIFECYCLE', 'The stream was stopped while it was being started', {}, cause === undefined ? {} : { cause })
}
