import { isDeepStrictEqual } from 'node:util'
import { checkLimits, checkTopic, TaskError } from '@taskstream/task-api'
import type { DiscardedState, TopicLimits } from '@taskstream/task-api'
import type { Batch, BatchEnvironment } from '../batches/batch.ts'
import { within } from '../core/clock.ts'
import type { Leftovers } from '../batches/leftovers.ts'
import type { TaskLimiter } from '../polling/limiter.ts'
import { HungHandlers } from '../core/hung-handlers.ts'
import { Condition } from '../core/listener.ts'
import type { Patience } from '../core/patience.ts'
import { PollLoop } from '../polling/poll-loop.ts'
import type { PollSettings } from '../polling/poll-settings.ts'
import { SharedLimits } from '../polling/shared-limits.ts'
import type { Processing } from './process-options.ts'
import { SharedCommits } from '../batches/shared-commits.ts'
import { SharedCompletions } from '../batches/shared-completions.ts'
import { checkStopOptions, nothingHeld } from './stop-report.ts'
import type { StopOptions, StopReport } from './stop-report.ts'
import { TopicStop } from './topic-stop.ts'
import { openHandler } from '../core/task-handler.ts'
import type { HandlerSlots, OpenHandler } from '../core/task-handler.ts'

/** The parts of a node that its task managers need. */
export interface ManagerEnvironment<Transaction> extends Omit<
  BatchEnvironment<Transaction>,
  'handler' | 'commits' | 'completions' | 'retry' | 'timeoutMs' | 'abortMs' | 'hung'
> {
  readonly limiter: TaskLimiter
  readonly leftovers: Leftovers<Transaction>
  readonly defaultIdleMs: () => number
  readonly lease: PollSettings<Transaction>['lease']
  readonly look: PollSettings<Transaction>['look']
  /** Whether the node was asked to take no more tasks. */
  readonly isQuiet: () => boolean
  /** Whether topics may be started, as the node runs. */
  readonly mayStart: () => boolean
}

/** One run of a topic, from a start to a stop. */
interface Running<Transaction> {
  readonly loop: PollLoop<Transaction>
  readonly handler: OpenHandler<Transaction>
}

/** Processes one topic. `TaskNode.process` makes it. A stopped manager can be started again while its node runs. */
export class TaskManager<Transaction> {
  readonly topic: string
  /** The checked options, with defaults filled in. */
  readonly processing: Processing<Transaction>
  readonly #environment: ManagerEnvironment<Transaction>
  readonly #limits: SharedLimits<Transaction>
  /** A new start begins with those that the last one has left. */
  readonly #hung: HungHandlers
  #running: Running<Transaction> | undefined
  /** Starts that are under way. */
  readonly #starting: Set<Promise<boolean>> = new Set()
  #stops = 0
  /** Whether the topic is known to exist with the right mode. */
  #isKnown = false
  #stopping: TopicStop<Transaction> | undefined

  constructor(environment: ManagerEnvironment<Transaction>, processing: Processing<Transaction>) {
    checkTopic(environment.topic)
    if (processing.limits) checkLimits(environment.topic, processing.limits)
    this.topic = environment.topic
    this.processing = processing
    this.#environment = environment
    this.#limits = new SharedLimits(environment)
    this.#hung = new HungHandlers(
      () => this.slots?.concurrency ?? this.concurrency,
      () => this.wake(),
    )
  }

  /** Whether the manager polls. */
  get isActive(): boolean {
    return this.#running !== undefined && this.#stopping === undefined
  }

  /** The batches that are held. */
  get batches(): Iterable<Batch> {
    return this.#running?.loop.batches ?? []
  }

  /** For how long polls have found nothing, in milliseconds. Undefined if the last one found tasks, or if none may be made. */
  get emptyMs(): number | undefined {
    return this.#running?.loop.emptyMs
  }

  /** Whether nothing is held, and a poll has found nothing since the last wake-up, or none is made. */
  get isIdle(): boolean {
    return [...this.batches].length === 0 && (!this.isActive || this.#running?.loop.isEmpty === true)
  }

  /** The longest pause after polls that find nothing, in milliseconds. */
  get idleMs(): number {
    return this.processing.idleMs ?? this.#environment.defaultIdleMs()
  }

  /** How often the manager was stopped. A stop cancels starts that were asked for before. */
  get stops(): number {
    return this.#stops
  }

  /** The most batches that the manager holds at a time. Before its handler is opened, this is the option or its default. */
  get concurrency(): number {
    return this.#running ? concurrencyOf(this.processing, this.#running.handler) : (this.processing.concurrency ?? 2)
  }

  /** What its handler handles at this moment, if it has batches that wait in it. */
  get slots(): HandlerSlots | undefined {
    return this.#running?.handler.slots
  }

  /** How many of its handlers run on although their tasks were decided without them. */
  get hung(): number {
    return this.#hung.size
  }

  /**
   * Initializes the topic, once: a topic that was destroyed since stays destroyed.
   *
   * @param patience how long to wait for a database that is away. Without it, such a database is an error
   * @throws TaskError TOPIC_DIFFERENT; the error of the database
   */
  async makeKnown(patience?: Patience): Promise<void> {
    if (this.#isKnown) return
    const { dispatcher, repository, listener, topic } = this.#environment
    const { topicOptions, limits } = this.processing
    let stored: TopicLimits | undefined
    await dispatcher.patiently<void>(
      async (transaction) => {
        await repository.initialize(transaction, topic, topicOptions)
        stored = limits
          ? await repository.limit(transaction, topic, limits, { keep: true })
          : (await repository.limits(transaction)).get(topic)
      },
      patience,
      new Condition(listener, 'poll', topic),
    )
    this.limit(stored)
    if (limits && !isDeepStrictEqual(stored, withDefaults(limits)))
      listener.onError({ activity: 'limit', topic, error: limitsDifferent(topic, withDefaults(limits), stored) })
    this.#isKnown = true
  }

  /** Notes that the topic is initialized, and its limits, so that `makeKnown` need not ask. Options are asked for nevertheless. */
  found(stored: TopicLimits | undefined): void {
    const { topicOptions, limits } = this.processing
    if (this.#isKnown || topicOptions || limits) return
    this.limit(stored)
    this.#isKnown = true
  }

  /** Notes the limits that the topic has. Polls keep them from now on. */
  limit(limits: TopicLimits | undefined): void {
    this.#limits.set(limits)
  }

  /** Gives back slots that a stop could not give back. @throws the error of the database */
  async giveSlots(): Promise<void> {
    await this.#limits.leave(() => (this.#running ? undefined : this.#environment.leftovers.of(this.topic).length))
  }

  /**
   * Begins to poll, after a stop under way.
   *
   * @returns false if the manager already polls
   * @throws TaskError LIFECYCLE if the node does not run, or if the manager is stopped meanwhile; TOPIC_DIFFERENT; the error of opening the handler
   */
  start(): Promise<boolean> {
    const starting = this.#start(this.#stops).finally(() => this.#starting.delete(starting))
    this.#starting.add(starting)
    return starting
  }

  async #start(stops: number): Promise<boolean> {
    await this.#stopping?.report
    const { topic, leftovers } = this.#environment
    this.#checkGoOn(stops)
    await this.makeKnown()
    await leftovers.enter(topic)
    try {
      const running = this.#open(stops)
      running?.loop.start()
      if (!running) leftovers.leave(topic)
      return running !== undefined
    } catch (error) {
      leftovers.leave(topic)
      throw error
    }
  }

  /** @param stops how often the manager had been stopped when the start was asked for */
  #checkGoOn(stops: number): void {
    const { topic, mayStart } = this.#environment
    if (!mayStart()) throw new TaskError('LIFECYCLE', `The node of topic "${topic}" is not running: start it first`, { topic })
    if (stops !== this.#stops)
      throw new TaskError('LIFECYCLE', `Topic "${topic}" was stopped while it was being started: start it again`, { topic })
  }

  /** @returns undefined if the manager already runs */
  #open(stops: number): Running<Transaction> | undefined {
    if (this.isActive) return undefined
    this.#checkGoOn(stops)
    const handler = openHandler(this.processing.handler, this.topic)
    try {
      // Opening the handler may have stopped the node.
      this.#checkGoOn(stops)
    } catch (error) {
      void this.#close(handler)
      throw error
    }
    this.#running = { loop: this.#loop(handler), handler }
    return this.#running
  }

  /**
   * Starts, and stores that the topic is active. Other nodes follow, and so does this node after a restart.
   *
   * @returns false if the manager already runs, in which case nothing is stored
   * @throws TaskError as `start`; the error of the database, in which case the topic runs here but nothing was stored
   */
  async activate(): Promise<boolean> {
    if (!(await this.start())) return false
    const { dispatcher, repository } = this.#environment
    await dispatcher.once<boolean>((transaction) => repository.activate(transaction, this.topic))
    return true
  }

  /**
   * Stops, and stores that the topic is inactive. Other nodes follow, and so does this node after a restart.
   *
   * @returns false if the manager does not run, in which case nothing is stored
   * @throws TaskError as `stop`; the error of the database, in which case the topic is stopped here but nothing was stored
   */
  async deactivate(options: StopOptions = {}): Promise<boolean> {
    if (!this.isActive) return false
    await this.stop(options)
    const { dispatcher, repository } = this.#environment
    await dispatcher.once<boolean>((transaction) => repository.deactivate(transaction, this.topic))
    return true
  }

  /** Polls soon, as there may be work. A call is never lost while the manager runs, and does nothing otherwise. */
  wake(): void {
    this.#running?.loop.wake()
  }

  /** Asks the handlers of all held batches to let go. */
  abort(reason: TaskError): void {
    for (const batch of this.batches) batch.abort(reason)
  }

  /**
   * Stops polling, lets handlers finish, then asks them to let go, then hands back the tasks that they still hold. A second call during the stop gets
   * the same report. If nothing runs, the report is empty.
   *
   * @throws TaskError ARGUMENT_INVALID
   */
  stop(options: StopOptions = {}): Promise<StopReport> {
    const checked = checkStopOptions(options)
    this.#stops++
    const { clock, leftovers } = this.#environment
    const { graceMs, abortMs, leaveMs } = checked
    // Starts under way are cancelled.
    if (!this.#running)
      return within(clock, graceMs + abortMs + leaveMs, Promise.allSettled(this.#starting)).then(() => nothingHeld)
    this.#stopping?.hurry(checked)
    const { loop, handler } = this.#running
    const onEnd = (): void => {
      this.#running = this.#stopping = undefined
      leftovers.leave(this.topic)
    }
    this.#stopping ??= new TopicStop(
      {
        ...this.#environment,
        loop,
        limits: this.#limits,
        hung: this.#hung,
        isReplaced: () => this.#running !== undefined && this.#running.loop !== loop,
        close: () => this.#close(handler),
        onEnd,
      },
      checked,
    )
    return this.#stopping.report
  }

  async #close(handler: OpenHandler<Transaction>): Promise<void> {
    try {
      await handler.close?.()
    } catch (error) {
      this.#environment.listener.onError({ activity: 'handle', topic: this.topic, error })
    }
  }

  #loop(handler: OpenHandler<Transaction>): PollLoop<Transaction> {
    const { size, mode, share, retry, timeoutMs, abortMs, idleMs, retainMs, topicOptions, shares } = this.processing
    const { limiter, leftovers, lease, look, defaultIdleMs, isQuiet, listener, ...environment } = this.#environment
    const { order, condition } = topicOptions ?? {}
    const { processing } = this
    const shared = { ...environment, hung: this.#hung, discard: discarded(retainMs) }
    const completions = new SharedCompletions(shared)
    const commits = new SharedCommits(shared, share)
    return new PollLoop(
      { ...shared, commits, completions, listener, handler: handler.handle, retry, timeoutMs, abortMs },
      {
        // A poll with order and condition fails if the topic was destroyed and made again with others.
        poll: { size, ...(order && { order }), ...(condition && { condition }), ...(shares && { shares }) },
        mode,
        get concurrency() {
          return concurrencyOf(processing, handler)
        },
        mayHoldAhead: processing.concurrency === undefined && handler.capacity === undefined,
        idleMs: () => idleMs ?? defaultIdleMs(),
        look,
        limiter,
        limits: this.#limits,
        leftovers,
        lease,
        isQuiet,
        onFatal: (error) => {
          listener.onFatal({ topic: this.topic, error })
          // The stop lets held batches finish.
          void this.stop()
        },
      },
    )
  }
}

function concurrencyOf<Transaction>({ concurrency }: Processing<Transaction>, { capacity }: OpenHandler<Transaction>): number {
  return concurrency ?? capacity ?? 2
}

/** The limits as they would be stored. */
function withDefaults({ maxEntries, ...limits }: TopicLimits): TopicLimits {
  return { ...limits, ...(maxEntries && { maxEntries: { count: maxEntries.count, whenFull: maxEntries.whenFull ?? 'reject' } }) }
}

function limitsDifferent(topic: string, given: TopicLimits, stored: TopicLimits | undefined): TaskError {
  return new TaskError(
    'LIMITS_DIFFERENT',
    `Topic "${topic}" keeps the limits that are stored, ${JSON.stringify(stored)}, and not ${JSON.stringify(given)}, which this process was given: call limit(transaction, "${topic}", …) to change them`,
    { topic, given, stored },
  )
}

/** The states whose tasks are not kept at all. Undefined if there are none. */
function discarded(retainMs: Processing<never>['retainMs']): readonly DiscardedState[] | undefined {
  const states = (['succeeded', 'failed', 'filtered'] as const).filter((state) => retainMs[state] === 0)
  return states.length > 0 ? states : undefined
}
