import { checkInteger, invalid, TaskError } from '@taskstream/task-api'
import type {
  Execution,
  PushedTask,
  PushOptions,
  TaskCreation,
  TaskNotifier,
  TaskRepository,
  TransactionSource,
} from '@taskstream/task-api'
import type { Batch } from './batch.ts'
import { systemClock } from './clock.ts'
import type { Clock } from './clock.ts'
import { Dispatcher } from './dispatcher.ts'
import { watchEventLoop } from './event-loop.ts'
import { Heartbeat } from './heartbeat.ts'
import type { Beating } from './lease.ts'
import { unlimited } from './limiter.ts'
import type { TaskLimiter } from './limiter.ts'
import { safeListener } from './listener.ts'
import type { SafeListener, TaskListener } from './listener.ts'
import { Maintenance } from './maintenance.ts'
import { checkPoolSize } from './pool-size.ts'
import { checkProcessOptions } from './process-options.ts'
import type { ProcessOptions } from './process-options.ts'
import { joinReports, nothingHeld } from './stop-report.ts'
import type { StopOptions, StopReport } from './stop-report.ts'
import { stream } from './stream.ts'
import type { StreamBatch, StreamOptions } from './stream.ts'
import { Submitter } from './submit.ts'
import { TaskManager } from './task-manager.ts'
import { ThreadHeartbeat } from './thread-heartbeat.ts'
import type { HeartbeatThread } from './thread-heartbeat.ts'

export interface TaskNodeOptions<Transaction> {
  readonly repository: TaskRepository<Transaction, Execution>
  /** How transactions are opened: `pgTransactions(pool)`, `sqliteTransactions(db)`, or your own. */
  readonly transactions: TransactionSource<Transaction>
  /** Hears of new tasks, so that the node need not poll for them often. */
  readonly notifier?: TaskNotifier
  /** Milliseconds, 10 to a day. Default 5 000. More often finds a lost database sooner, and costs a write each time. */
  readonly heartbeatIntervalMs?: number
  /**
   * A node that has been silent for so long is dead, and its tasks are taken from it; milliseconds, more than twice the interval.
   * Default 30 000. Shorter recovers sooner; too short takes tasks from a process that merely paused.
   */
  readonly leaseMs?: number
  /**
   * How often the tasks of dead owners are looked for, in milliseconds. Default: half the lease. Seldom leaves them lying for longer; often
   * costs a statement each time.
   */
  readonly maintenanceIntervalMs?: number
  /**
   * Beats from a thread of its own, so that a handler which computes for longer than the lease keeps its tasks; a thread and a connection
   * more, and an event loop that hangs is noticed later. Default: from the event loop.
   */
  readonly heartbeatThread?: HeartbeatThread
  /** Former nodes of the same owner name are dead from the start of this one. Default false: they are when their lease has run out. */
  readonly exclusive?: boolean
  /** Shared by all topics of the node: `bound(n)`, `prioritizing(n, …)`, or your own. Default: no limit but each topic's concurrency. */
  readonly limiter?: TaskLimiter
  /**
   * The listener is told when the event loop has stood still for so long, in milliseconds, 10 to one day. Default 1 000: well before a
   * heartbeat is late.
   */
  readonly blockedMs?: number
  readonly listener?: TaskListener
  /** For tests: what time is, for every pause, lease and timeout. Default: the process's own. */
  readonly clock?: Clock
}

/**
 * One per process: the owner and its heartbeat, wake-ups, the care for dead owners' tasks, and any number of topics.
 *
 * @example
 * await using node = new TaskNode({ repository: tasks, transactions: pgTransactions(pool), notifier: pgListener(() => new pg.Client(url)) })
 * node.process('invoices', { handler: eachTask(async (task) => { await send(task.input) }), size: 1000 })
 * await node.start()
 */
export class TaskNode<Transaction> implements AsyncDisposable {
  readonly #options: TaskNodeOptions<Transaction>
  readonly #clock: Clock
  readonly #leaseMs: number
  readonly #blockedMs: number
  readonly #dispatcher: Dispatcher<Transaction>
  readonly #listener: SafeListener
  readonly #heartbeat: Beating
  readonly #maintenance: Maintenance<Transaction>
  readonly #submitter: Submitter<Transaction>
  readonly #managers: Map<string, TaskManager<Transaction>> = new Map()
  #listening: AsyncDisposable | undefined
  #unwatch: (() => void) | undefined
  /** Whether there is a notifier that has not given up. */
  #notified: boolean
  #state: 'new' | 'started' | 'stopped' = 'new'
  #stopping: Promise<StopReport> | undefined

  /** @throws TaskError ARGUMENT_INVALID */
  constructor(options: TaskNodeOptions<Transaction>) {
    const {
      repository,
      heartbeatIntervalMs = 5_000,
      leaseMs = 30_000,
      maintenanceIntervalMs = Math.ceil(leaseMs / 2),
      blockedMs = 1_000,
      listener = {},
      clock = systemClock,
      heartbeatThread,
    } = options
    checkInteger('heartbeatIntervalMs', heartbeatIntervalMs, 10, 86_400_000)
    checkInteger('leaseMs', leaseMs, 1, 7 * 86_400_000)
    checkInteger('maintenanceIntervalMs', maintenanceIntervalMs, 10, 86_400_000)
    checkInteger('blockedMs', blockedMs, 10, 86_400_000)
    if (leaseMs <= 2 * heartbeatIntervalMs) throw invalid('leaseMs', leaseMs, 'must be more than twice heartbeatIntervalMs')
    this.#options = options
    this.#clock = clock
    this.#leaseMs = leaseMs
    this.#blockedMs = blockedMs
    this.#notified = options.notifier !== undefined
    this.#dispatcher = new Dispatcher(options.transactions)
    this.#submitter = new Submitter({ ...options, onCommitted: (topic) => this.wake(topic) })
    this.#listener = safeListener(listener)
    const shared = { repository, clock, leaseMs, dispatcher: this.#dispatcher, listener: this.#listener }
    const lease = {
      ...shared,
      intervalMs: heartbeatIntervalMs,
      onLost: () => this.#abort(new TaskError('LEASE_LOST', `No heartbeat has come through for ${leaseMs} ms`, { leaseMs })),
      onRegained: () => this.wake(),
    }
    this.#heartbeat = heartbeatThread
      ? new ThreadHeartbeat({
          ...lease,
          owner: repository.owner,
          thread: heartbeatThread,
          onUnknown: () => void this.#register(),
        })
      : new Heartbeat(lease)
    this.#maintenance = new Maintenance({
      ...shared,
      intervalMs: maintenanceIntervalMs,
      onReady: (topics) => topics.forEach((topic) => this.wake(topic)),
      retained: () => [...this.#managers.values()].map(({ topic, processing }) => ({ topic, retainMs: processing.retainMs })),
    })
  }

  /** Who this node is, in the database. */
  get owner(): string {
    return this.#options.repository.owner
  }

  /**
   * Processes a topic, from the start of the node, or from now on if it is started.
   *
   * @throws TaskError ARGUMENT_INVALID; LIFECYCLE if the topic is processed already, or the node was stopped; POOL_TOO_SMALL
   */
  process(topic: string, options: ProcessOptions<Transaction>): TaskManager<Transaction> {
    if (this.#state === 'stopped') throw new TaskError('LIFECYCLE', 'The node was stopped: make a new one', { topic })
    if (this.#managers.has(topic))
      throw new TaskError('LIFECYCLE', `Topic "${topic}" is processed by this node already`, { topic })
    const { repository, transactions, limiter = unlimited } = this.#options
    const environment = {
      topic,
      repository,
      limiter,
      dispatcher: this.#dispatcher,
      listener: this.#listener,
      clock: this.#clock,
      wake: (touched: string) => this.wake(touched),
      defaultIdleMs: () => (this.#notified ? 3e4 : 1e3),
      mayPoll: () => this.#heartbeat.holds,
      mayStart: () => this.#state === 'started',
    }
    const manager = new TaskManager(environment, checkProcessOptions(options, this.#leaseMs))
    if (this.#state === 'started') {
      checkPoolSize(transactions, [...this.#managers.values(), manager])
      void this.#join(manager)
    }
    this.#managers.set(topic, manager)
    return manager
  }

  /**
   * The batches of a topic, to be pulled instead of handled: the node must be started, now or later. A batch is polled ahead while one is
   * looked at. The topic is processed from the first batch that is asked for until the loop is left.
   *
   * @throws TaskError as `process`, when the first batch is asked for
   * @example
   * for await (const batch of node.stream('invoices', { size: 100, signal })) {
   *   await batch.complete(async (transaction, held) => store(transaction, held))
   * }
   */
  stream(
    topic: string,
    { signal, ...options }: StreamOptions<Transaction> = {},
  ): AsyncGenerator<StreamBatch<Transaction>, void, void> {
    return stream<Transaction>(
      topic,
      signal,
      (handler) => this.process(topic, { ...options, handler }),
      async (manager) => {
        // The stop of the node waits for its batches by itself.
        if (this.#state === 'started') await manager.stop()
        this.#managers.delete(topic)
      },
    )
  }

  /**
   * Registers the owner, makes the topics known, and begins.
   *
   * @throws TaskError LIFECYCLE on a second start; POOL_TOO_SMALL; SCHEMA_* if the tables do not fit; what the database, or opening a
   * handler throws: nothing runs then
   */
  async start(): Promise<void> {
    if (this.#state !== 'new') throw new TaskError('LIFECYCLE', `The node was ${this.#state} already: make a new one`)
    const { repository, notifier, transactions, exclusive = false } = this.#options
    checkPoolSize(transactions, this.#managers.values())
    const registeredMs = this.#clock.monotonicMs()
    await this.#dispatcher.once(async (transaction) => {
      await repository.register(transaction, { exclusive })
      for (const { topic, processing } of this.#managers.values())
        await repository.initialize(transaction, topic, processing.topicOptions)
    })
    // Listening comes before the first poll: what is pushed in between is found by one or the other.
    this.#listening = await notifier?.listen(
      (topic) => this.wake(topic),
      (error) => {
        this.#notified = false
        this.#listener.onError({ activity: 'listen', error })
        // Nobody sleeps on for as long as a notifier would have allowed.
        this.wake()
      },
    )
    this.#state = 'started'
    try {
      await this.#heartbeat.start(registeredMs)
    } catch (error) {
      await this.stop()
      throw error
    }
    this.#maintenance.start()
    this.#unwatch = watchEventLoop({
      clock: this.#clock,
      listener: this.#listener,
      blockedMs: this.#blockedMs,
      batches: () => this.#batches(),
    })
    try {
      for (const manager of this.#managers.values()) await manager.start()
    } catch (error) {
      await this.stop({ graceMs: 0 })
      throw error
    }
  }

  /** Removed as dead, the owner begins anew; what it held is gone. */
  async #register(): Promise<void> {
    await this.#dispatcher
      .once<boolean>((transaction) => this.#options.repository.register(transaction))
      .catch((error: unknown) => this.#listener.onError({ activity: 'heartbeat', error }))
  }

  /** A topic that comes when the node runs already is made known first; if that fails, its polls will say so too. */
  async #join(manager: TaskManager<Transaction>): Promise<void> {
    const { topic, processing } = manager
    await this.#dispatcher
      .once<boolean>((transaction) => this.#options.repository.initialize(transaction, topic, processing.topicOptions))
      .catch((error: unknown) => this.#listener.onError({ activity: 'poll', topic, error }))
    if (this.#state !== 'started') return
    await manager.start().catch((error: unknown) => this.#listener.onFatal({ topic, error }))
  }

  /**
   * Pushes in a transaction of the node's own, together with what others submit at the same time, and wakes the topic if it is processed
   * here. Resolves when that is committed; see `Submitter`. The node need not be started.
   *
   * @throws TaskError as `Submitter.submit`; LIFECYCLE when the node was stopped
   * @example
   * const [task] = await node.submit('invoices', { identifier: 'inv-1' })
   */
  submit(
    topic: string,
    creations: string | TaskCreation | Iterable<string | TaskCreation>,
    options: PushOptions = {},
  ): Promise<PushedTask[]> {
    return this.#submitter.submit(topic, creations, options)
  }

  /** There may be work in a topic, or in any. */
  wake(topic?: string): void {
    if (topic === undefined) for (const manager of this.#managers.values()) manager.wake()
    else this.#managers.get(topic)?.wake()
  }

  /** Stops every topic in phases, and leaves. Called again, it reports the same. */
  stop(options: StopOptions = {}): Promise<StopReport> {
    this.#stopping ??= this.#stop(options)
    return this.#stopping
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #stop(options: StopOptions): Promise<StopReport> {
    const started = this.#state === 'started'
    this.#state = 'stopped'
    const submitted = this.#submitter[Symbol.asyncDispose]()
    if (!started) return submitted.then(() => nothingHeld)
    const maintained = this.#maintenance.stop()
    // At once, so that what is held now is what is reported. The heart beats to the end: what is still handled is still held.
    const reports = await Promise.all([...this.#managers.values()].map((manager) => manager.stop(options)))
    await maintained
    await submitted
    this.#unwatch?.()
    await this.#heartbeat.stop()
    await this.#listening?.[Symbol.asyncDispose]()
    // An owner that has left counts as dead: what it could not hand back is taken up at once.
    await this.#dispatcher
      .once<boolean>((transaction) => this.#options.repository.unregister(transaction))
      .catch((error: unknown) => this.#listener.onError({ activity: 'heartbeat', error }))
    return joinReports(reports)
  }

  #batches(): Batch[] {
    return [...this.#managers.values()].flatMap((manager) => [...manager.batches])
  }

  #abort(reason: TaskError): void {
    for (const manager of this.#managers.values()) manager.abort(reason)
  }
}
