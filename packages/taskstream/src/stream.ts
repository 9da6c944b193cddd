import { checkDuration, checkNames, checkText, invalid, isTaskError, TaskError } from '@taskstream/task-api'
import type { Execution, HeldTask, PushedTask, TaskInfo } from '@taskstream/task-api'
import {
  checkSecretNames,
  creationOf,
  InProcess,
  isLimited,
  jobHandler,
  JobSignatures,
  pushedChange,
  refOf,
  topicOf,
} from '@taskstream/task-jobs'
import type {
  AnyTopic,
  CheckedLimits,
  Done,
  Job,
  JobHandler,
  JobOf,
  JobRef,
  PushArguments,
  Queue,
  Topic,
} from '@taskstream/task-jobs'
import { stopOnSignal, TaskNode } from '@taskstream/task-processor'
import type { ProcessOptions, StopOptions, StopReport } from '@taskstream/task-processor'
import { consoleListener } from './console-listener.ts'
import { checked, checkedTopic, closureOf, queuesOf, topicsOf } from './definitions.ts'
import type { Definition } from './definitions.ts'
import { given } from './given.ts'
import { resultOf, waitsTooLong } from './ends.ts'
import { JobTimers } from './job-timers.ts'
import { JobHandlers } from './job-handlers.ts'
import { JobWaiter } from './job-waiter.ts'
import type { JobEnding } from './job-waiter.ts'
import type { JobEvents } from './job-watcher.ts'
import { JobWatches } from './job-watches.ts'
import { checkMode, loopOf } from './loop-options.ts'
import { checkOwn, whichOf } from './own-jobs.ts'
import { checkRun, isDoneWithin, isInTime } from './run-for.ts'
import { TypedTopic } from './typed-topic.ts'
import { said, wordedTasks } from './words.ts'
import type { WordedTasks } from './words.ts'
import { checkStart, handleNames, streamNames, waitNames } from './stream-options.ts'
import type { HandleOptions, StartOptions, StreamDriver, StreamOptions, WaitOptions } from './stream-options.ts'
import type { WatchOptions } from './watch-options.ts'

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
export class Stream<Transaction, E extends Execution = 'async'> extends JobHandlers<Transaction, E> implements AsyncDisposable {
  /** Makes handlers and topics of your own, beside the jobs. */
  readonly node: TaskNode<Transaction>
  readonly #driver: StreamDriver<Transaction, E>
  readonly #topics: WordedTasks<Transaction, E>
  readonly #options: StreamOptions<Transaction>
  readonly #timers: JobTimers<Transaction, E>
  readonly #waiter: JobWaiter<Transaction, E>
  readonly #watches: JobWatches<Transaction, E>
  #migrated: Promise<unknown> | undefined
  #starting: Promise<void> | undefined
  #signals: Disposable | undefined
  #state: 'new' | 'starting' | 'started' | 'stopped' = 'new'

  /** @throws TaskError ARGUMENT_INVALID */
  constructor(driver: StreamDriver<Transaction, E>, options: StreamOptions<Transaction> = {}) {
    // Among the options is a key, and an option whose name is misspelt may have it.
    checkSecretNames(streamNames, options)
    const { signing, verification, ...plainOptions } = options
    super(driver.repository, new InProcess(), new JobSignatures({ signing, verification }), options.limiter)
    const { migrate = true, application, listener = consoleListener, ...nodeOptions } = plainOptions
    if (typeof migrate !== 'boolean') throw invalid('migrate', migrate, 'must be true or false')
    if (application !== undefined) checkText('application', application, 200)
    this.#driver = driver
    this.#options = plainOptions
    this.#topics = wordedTasks(this.tasks, 'topic')
    this.#watches = new JobWatches(
      driver,
      { process: this.process, handled: this.handled },
      { listener, ...given({ clock: options.clock }) },
    )
    this.node = new TaskNode<Transaction>({
      ...nodeOptions,
      listener: [
        ...[listener].flat(),
        { onComplete: ({ topic, tasks }) => this.#completed(topic, tasks) },
        this.#watches.listener,
      ],
      repository: driver.repository,
      transactions: driver.transactions,
      ...given({ notifier: driver.notifier }),
    })
    this.#waiter = new JobWaiter(driver, driver.waitClock ?? options.clock)
    this.#timers = new JobTimers(driver, plainOptions, (topic) => this.node.wake(topic))
  }

  /**
   * Why this process takes no jobs, or none of some topic, for the probes of an orchestrator: `starting`, `stopping`, `lease`, `quiet`, `heartbeat`,
   * `poll mails`, `process mails`. Empty if it takes jobs, or was started and handles none.
   *
   * @example
   * response.writeHead(stream.troubles.length > 0 ? 503 : 200).end(stream.troubles.join(', '))
   */
  get troubles(): readonly string[] {
    if (this.isStopped) return ['stopping']
    if (this.#state !== 'started') return ['starting']
    return this.handled.size > 0 ? this.node.troubles : []
  }

  /**
   * Runs `work` in a transaction, which commits when `work` returns and rolls back when it throws. After a deadlock, `work` runs again. Jobs that it
   * pushed start at once after the commit. A push that `work` has not awaited is waited for, and rolls the transaction back if it is refused.
   *
   * @throws the error of `work`
   */
  async transaction<Result>(work: (transaction: Transaction) => Result | Promise<Result>): Promise<Result> {
    if (typeof work !== 'function') throw invalid('work', work, 'must be a function, such as async (tx) => { … }')
    let done: Done | undefined
    const result = await this.#driver.transactions<Result>((transaction) => {
      done = this.process.begin(transaction)
      return this.process.within(done, () => work(transaction))
    })
    this.process.committed(done!, (topic) => this.node.wake(topic))
    return result
  }

  /**
   * Pushes a job in a transaction of its own, together with others that are submitted at the same time. Resolves after the commit.
   *
   * @throws TaskError as `push`; LIFECYCLE if the stream was stopped; errors of the database
   */
  async submit<Name extends string, Given, Needs>(
    job: JobOf<Name, Given, Needs>,
    ...given: PushArguments<Given, Needs>
  ): Promise<JobRef<Name>> {
    // What several statements push is not pushed together with others.
    if (checked(job).settings.needs || isLimited(job))
      return this.transaction((transaction) => this.push(transaction, job, ...given))
    const [input, options] = given
    const creation = creationOf(checked(job), input, options, this.signatures)
    const topic = topicOf(job)
    this.process.pushes(job)
    const [pushed] = await said<'async', PushedTask[]>('job', job.name, () => this.node.submit(topic, [creation]))
    const change = this.process.watching && pushedChange(job.name, pushed!, creation, [])
    if (change) this.process.watching?.([change])
    return refOf(job, pushed!, creation)
  }

  /**
   * Handles the jobs of a definition once the stream is started. What the handler throws is a failed try, which `retry` may repeat.
   *
   * @param options of a job in a queue: `use` alone. The others are those of `route`, as all jobs of the queue have one loop
   * @throws TaskError ARGUMENT_INVALID; LIFECYCLE if the job is handled already, or the stream was started
   */
  handle<Name extends string, Given, Input, Next extends string, Returned, Needs>(
    job: Job<Name, Given, Input, Next, Returned, unknown, Needs>,
    handler: JobHandler<Transaction, Name, Input, Next, Returned, Needs>,
    options: HandleOptions<Transaction> = {},
  ): this {
    checked(job)
    checkNames(handleNames, options)
    if (typeof handler !== 'function') throw invalid('handler', handler, `of the job "${job.name}" must be a function`)
    this.checkNew(job, 'handled')
    this.signatures.checkCanVerify(job)
    if (job.settings.queue) return this.handledInQueue(job, handler as never, options)
    checkMode(job, options)
    const { handling, loop } = loopOf(options, this.#options.limiter)
    this.#watches.processed(job.name, loop)
    this.node.process(job.name, {
      ...loop,
      handler: jobHandler(this.environment(), job, handler, handling),
      retry: job.settings.retry,
      ...job.settings.topic,
      ...given({ limits: job.settings.limits?.stored }),
    })
    this.handled.set(job.name, job)
    this.process.knows(job)
    this.needs.handled(job)
    return this
  }

  /** Whoever waits for these tasks in this process learns of their end at once, and what needs them is looked at. */
  #completed(topic: string, tasks: readonly HeldTask[]): void {
    this.#waiter.completed(tasks)
    for (const name of this.needs.dependents(topic)) this.node.wake(name)
  }

  /**
   * Waits until a job has ended, and returns what it has returned. If it goes on with another job, that one is waited for. In this process an end is
   * seen at once, in others within a second. Any number of jobs may be waited for: all are looked at together.
   *
   * @throws TaskError JOB_ENDED if the job ends without success; TASK_STATE if there is no such job; WAIT_TIMEOUT; OUTPUT_INVALID if what it has
   * returned no longer fits its schema; LIFECYCLE if the stream is stopped; ARGUMENT_INVALID, TOPIC_UNKNOWN; the reason of the signal
   * @example
   * const { total } = await stream.wait(invoice, await stream.submit(invoice, order), { timeoutMs: 60_000 })
   */
  async wait<Name extends string, End>(
    job: Job<Name, never, unknown, string, never, End, never>,
    selector: string | JobRef<NoInfer<Name>>,
    options: WaitOptions = {},
  ): Promise<End> {
    checkNames(waitNames, options)
    const { timeoutMs, signal } = options
    if (timeoutMs !== undefined) checkDuration('timeoutMs', timeoutMs)
    if (signal !== undefined && !(signal instanceof AbortSignal)) throw invalid('signal', signal, 'must be an AbortSignal')
    const which = whichOf(job, selector)
    if (this.isStopped) throw stopped()
    const id = typeof selector === 'string' ? selector : selector.id
    const late = (): TaskError => waitsTooLong(job.name, id, timeoutMs!)
    const patience = { timeoutMs, signal, late }
    const check = job.settings.queue && ((task: TaskInfo): void => checkOwn(job, task))
    const awaited = { topic: topicOf(job), which, check, queues: queuesOf(job) }
    const ending = await said<'async', JobEnding | undefined>('job', job.name, () => this.#waiter.wait(awaited, patience))
    return resultOf(job, id, ending) as End
  }

  /**
   * Tells what becomes of jobs, for screens and dashboards. Nothing is told before its commit.
   *
   * What this process does to jobs is told at once and completely, from the call on. What other processes do is looked for every `everyMs`, as far as
   * possible. Do not build on it: it may miss
   * - states that a job leaves between two looks
   * - jobs that were pushed before the watching began, but for the last 1 000 of each topic
   * - new jobs, if there are more than 1 000 between two looks, or if they are committed after jobs that were pushed more than a look later
   * - changes to all but 10 000 jobs of a topic that have not ended, and it is late with them if there are more than 1 000
   *
   * A state of a job is told once, unless the job comes back to it. If nobody reads the events, the last 10 000 are kept.
   *
   * @returns an iterator, which ends with `break`, its signal, or the stream. Close one that is not read to its end, by `return()` or `await using`
   * @throws TaskError ARGUMENT_INVALID; LIFECYCLE if the stream was stopped
   * @example
   * for await (const { ref, state, reason } of stream.watch({ jobs: [welcome], states: ['failed'] })) console.log(ref.id, state, reason)
   */
  watch<Name extends string = string, Among extends Queue = never>(
    options: WatchOptions<Name, Among> = {},
  ): JobEvents<[Among] extends [never] ? Name : string> {
    if (this.isStopped) throw stopped()
    return this.#watches.watch(options as WatchOptions) as JobEvents as JobEvents<never>
  }

  /**
   * The tasks of a topic that `defineTopic` defines: batches, and pushes that supersede, with the types of the definition.
   *
   * @throws TaskError ARGUMENT_INVALID
   * @example
   * await stream.topic(prices).push(tx, [{ symbol: 'EUR', price: 11.7 }], { insertion: 'supersede' })
   */
  topic<Name extends string, Given, Input>(
    definition: Topic<Name, Given, Input>,
  ): TypedTopic<Transaction, E, Name, Given, Input> {
    return new TypedTopic(checkedTopic(definition), {
      tasks: this.#topics,
      execution: this.tasks.execution,
      process: this.process,
      node: this.node,
      processed: (options) => this.processed(definition, options),
    })
  }

  /** Processes a typed topic, or a queue, once the stream is started. `TypedTopic.process` calls this. */
  protected processed(definition: AnyTopic | Queue, options: ProcessOptions<Transaction>): void {
    this.checkNew(definition, 'processed')
    this.#watches.processed(definition.name, options)
    this.node.process(definition.name, options)
    this.handled.set(definition.name, definition)
  }

  protected get isNew(): boolean {
    return this.#state === 'new'
  }

  /**
   * Brings the tables to the version of this release, and makes jobs and typed topics known. `start` does this for those that are handled, and for jobs
   * that these go on with; a process that only pushes calls `prepare` once.
   *
   * @throws TaskError SCHEMA_*, PERMISSION_DENIED; TOPIC_DIFFERENT or TOPIC_NOT_KEYED if a job or topic was defined with another order or without a
   * key before; errors of the database
   */
  async prepare(...definitions: readonly Definition[]): Promise<void> {
    await this.#prepare(definitions)
  }

  /** @param checkGoOn throws before the next step if there is to be none */
  async #prepare(definitions: readonly Definition[], checkGoOn: () => void = () => {}): Promise<void> {
    const found = closureOf(definitions)
    const { repository, transactions } = this.#driver
    if (this.#options.migrate ?? true) {
      this.#migrated ??= repository.migrate(transactions)
      await this.#migrated.catch((error: unknown) => {
        this.#migrated = undefined
        throw error
      })
    }
    const all = topicsOf(found.values())
    if (all.length === 0) return
    checkGoOn()
    await transactions(async (transaction) => {
      for (const { name, what, topic } of all) await said(what, name, () => this.tasks.initialize(transaction, name, topic))
      for (const { name, limits } of all) if (limits) await this.#limit(transaction, name, limits)
    })
  }

  /** Stores the limits of a definition, unless the topic has limits. Its dead letters have a topic of their own. */
  async #limit(transaction: Transaction, name: string, { stored }: CheckedLimits): Promise<void> {
    if (stored.deadLetter !== undefined) await this.tasks.initialize(transaction, stored.deadLetter)
    await this.tasks.limit(transaction, name, stored, { keep: true })
  }

  /**
   * Prepares the handled jobs, and begins to handle them and to push those that have a timer. A start that fails leaves nothing running, and can be
   * repeated.
   *
   * @throws TaskError ARGUMENT_INVALID; LIFECYCLE if the stream was started or stopped; errors of `prepare`, and of `TaskNode.start`
   */
  async start(options: StartOptions = {}): Promise<void> {
    checkStart(options)
    if (this.#state !== 'new')
      throw new TaskError(
        'LIFECYCLE',
        this.#state === 'stopped' ? 'The stream was stopped: make a new one' : 'The stream runs already',
      )
    const { stopOn, onStopped, ...stopOptions } = options
    this.openQueues()
    this.#state = 'starting'
    this.#starting = this.#start()
    await this.#starting
    if (stopOn) this.#signals = stopOnSignal(this, { signals: stopOn, ...given({ onStopped }), ...stopOptions })
  }

  /**
   * Starts, handles what there is, and stops: for platforms on which nothing runs between two requests. It ends early once nothing is left, neither ready nor
   * due within the time; jobs that others have locked or that a limit keeps are waited for briefly. Give the stream a lease that is shorter than the time between two calls, so that one takes up what a killed one had.
   *
   * @param budgetMs 1 to 86 400 000, the start included. The stop comes on top of that
   * @param options of the stop
   * @returns `more` if something may be left
   * @throws TaskError as `start` and `stop`
   * @example
   * const outcome = await stream.runFor(20_000, { graceMs: 1_500, abortMs: 500, leaveMs: 1_000 })
   */
  async runFor(budgetMs: number, options: StopOptions = {}): Promise<'done' | 'more'> {
    const { graceMs, abortMs, leaveMs } = checkRun(budgetMs, options)
    const endMs = performance.now() + budgetMs
    if (!(await isInTime(budgetMs, this.start()))) {
      // The step of the start that waits for the database sees the stop when it gets an answer, if this process still lives then.
      await isInTime(graceMs + abortMs + leaveMs, this.stop(options))
      return 'more'
    }
    try {
      const topics = new Set([...this.handled.values()].map((one) => topicOf(one as AnyTopic)))
      const { transactions } = this.#driver
      const isDone = await isDoneWithin(
        { node: this.node, tasks: this.tasks, transactions, timers: this.#timers, topics },
        endMs - performance.now(),
      )
      return isDone ? 'done' : 'more'
    } finally {
      await this.stop(options)
    }
  }

  async #start(): Promise<void> {
    try {
      const checkGoOn = (): void => this.#checkGoOn()
      await this.#prepare([...this.handled.values()], checkGoOn)
      checkGoOn()
      // Timers come first, as a node that has run cannot be started again after a failure.
      await this.#timers.start(this.handled.values(), checkGoOn)
      checkGoOn()
      if (this.handled.size > 0) await this.node.start()
      this.#checkGoOn()
      this.#state = 'started'
    } catch (error) {
      await this.#timers.stop().catch(() => {})
      // Whatever the step under way met, such as a pool that was closed after the stop.
      if (this.isStopped) throw stoppedMeanwhile(error)
      this.#state = 'new'
      throw error
    }
  }

  protected get closesAbandoned(): boolean {
    return this.#driver.transactions.closesAbandoned === true
  }

  protected get isStopped(): boolean {
    return this.#state === 'stopped'
  }

  #checkGoOn(): void {
    if (this.isStopped) throw stoppedMeanwhile()
  }

  /**
   * Stops in phases: no new jobs are taken, handlers get `graceMs` to end, then their signals abort. A second call gets the same report. The pool or
   * database that you gave stays open. A start under way rejects with LIFECYCLE, and `stop` waits for the end of its step, such as a migration,
   * however long that takes. The signals of `stopOn` are no longer heard afterwards.
   *
   * @throws TaskError ARGUMENT_INVALID
   */
  async stop(options: StopOptions = {}): Promise<StopReport> {
    const stopping = this.node.stop(options)
    this.#state = 'stopped'
    this.#waiter.stop(stopped)
    await this.#timers.stop()
    // A start under way may still write, until it sees before its next step that it is to end.
    await this.#starting?.catch(() => {})
    const report = await stopping
    // What the last handlers have done is told.
    this.#watches.stop()
    this.#signals?.[Symbol.dispose]()
    return report
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}

function stopped(): TaskError {
  return new TaskError('LIFECYCLE', 'The stream was stopped: make a new one')
}

function stoppedMeanwhile(cause?: unknown): TaskError {
  if (isTaskError(cause, 'LIFECYCLE')) return cause
  return new TaskError('LIFECYCLE', 'The stream was stopped while it was being started', {}, cause === undefined ? {} : { cause })
}
