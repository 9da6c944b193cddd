import { TaskError } from '@taskstream/task-api'
import type { PushedTask, PushOptions, TaskCreation } from '@taskstream/task-api'
import { Activations } from './activations.ts'
import type { Batch } from './batch.ts'
import { within } from './clock.ts'
import { Dispatcher } from './dispatcher.ts'
import { watchEventLoop } from './event-loop.ts'
import { Heartbeat } from './heartbeat.ts'
import type { Beating } from './lease.ts'
import { Leftovers } from './leftovers.ts'
import { unlimited } from './limiter.ts'
import { safeListener } from './listener.ts'
import type { SafeListener } from './listener.ts'
import { Maintenance } from './maintenance.ts'
import { checkNodeOptions } from './node-options.ts'
import type { NodeSettings, TaskNodeOptions } from './node-options.ts'
import { checkPoolSize } from './pool-size.ts'
import { checkProcessOptions } from './process-options.ts'
import type { ProcessOptions } from './process-options.ts'
import { checkStopOptions, joinReports, nothingHeld } from './stop-report.ts'
import type { StopOptions, StopReport } from './stop-report.ts'
import { stream } from './stream.ts'
import type { StreamBatch, StreamOptions } from './stream.ts'
import { Submitter } from './submit.ts'
import { TaskManager } from './task-manager.ts'
import { ThreadHeartbeat } from './thread-heartbeat.ts'

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
  readonly #settings: NodeSettings
  readonly #dispatcher: Dispatcher<Transaction>
  readonly #listener: SafeListener
  readonly #heartbeat: Beating
  readonly #leftovers: Leftovers<Transaction>
  readonly #maintenance: Maintenance<Transaction>
  readonly #activations: Activations<Transaction>
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
    const { repository, listener = {}, heartbeatThread } = options
    this.#options = options
    this.#settings = checkNodeOptions(options)
    const { clock, leaseMs, heartbeatIntervalMs, maintenanceIntervalMs, statementTimeoutMs } = this.#settings
    this.#notified = options.notifier !== undefined
    this.#dispatcher = new Dispatcher({ repository, transactions: options.transactions, statementTimeoutMs })
    const transactions = this.#dispatcher.source
    this.#submitter = new Submitter({ repository, transactions, onCommitted: (topic) => this.wake(topic) })
    this.#listener = safeListener(listener)
    const shared = { repository, clock, leaseMs, dispatcher: this.#dispatcher, listener: this.#listener }
    const lease = {
      ...shared,
      intervalMs: heartbeatIntervalMs,
      // The next beat goes over another connection: it must come before the lease has run out.
      statementTimeoutMs: Math.min(statementTimeoutMs, Math.ceil(leaseMs / 3)),
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
    this.#leftovers = new Leftovers(shared)
    this.#maintenance = new Maintenance({
      ...shared,
      leftovers: this.#leftovers,
      intervalMs: maintenanceIntervalMs,
      refreshIntervalMs: this.#settings.refreshIntervalMs,
      onReady: (topics) => topics.forEach((topic) => this.wake(topic)),
      retained: () => [...this.#managers.values()].map(({ topic, processing }) => ({ topic, retainMs: processing.retainMs })),
    })
    this.#activations = new Activations({ ...shared, intervalMs: maintenanceIntervalMs, managers: () => this.#managers.values() })
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
      leftovers: this.#leftovers,
      dispatcher: this.#dispatcher,
      listener: this.#listener,
      clock: this.#settings.clock,
      wake: (touched: string) => this.wake(touched),
      defaultIdleMs: () => (this.#notified ? 3e4 : 1e3),
      mayPoll: () => this.#heartbeat.holds,
      mayStart: () => this.#state === 'started',
    }
    const manager = new TaskManager(environment, checkProcessOptions(options, this.#settings.leaseMs))
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
    const registeredMs = this.#settings.clock.monotonicMs()
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
      (topic) => this.#activations.look(topic),
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
      clock: this.#settings.clock,
      listener: this.#listener,
      blockedMs: this.#settings.blockedMs,
      batches: () => this.#batches(),
    })
    try {
      await this.#activations.begin(this.#managers.values())
      this.#activations.start()
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
    await this.#activations.begin([manager]).catch((error: unknown) => this.#listener.onFatal({ topic, error }))
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

  /** Stops every topic in phases, and leaves. Called again, it reports the same. @throws TaskError ARGUMENT_INVALID */
  stop(options: StopOptions = {}): Promise<StopReport> {
    const checked = checkStopOptions(options)
    this.#stopping ??= this.#stop(checked)
    return this.#stopping
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #stop(options: Required<StopOptions>): Promise<StopReport> {
    const started = this.#state === 'started'
    this.#state = 'stopped'
    const submitted = this.#submitter[Symbol.asyncDispose]()
    if (!started) return submitted.then(() => nothingHeld)
    const { clock } = this.#settings
    const { graceMs, abortMs, leaveMs } = options
    const endMs = clock.monotonicMs() + graceMs + abortMs + leaveMs
    /** A database that hangs keeps no process from ending: what it does not get to know it will find out by the lease. */
    const inTime = (work: Promise<unknown>, keptMs = 0): Promise<void> =>
      within(clock, Math.max(0, endMs - keptMs - clock.monotonicMs()), work)
    const maintained = Promise.all([this.#maintenance.stop(), this.#activations.stop()])
    // At once, so that what is held now is what is reported. The heart beats to the end: what is still handled is still held.
    const reports = await Promise.all([...this.#managers.values()].map((manager) => manager.stop(options)))
    const listening = Promise.resolve(this.#listening?.[Symbol.asyncDispose]())
    await inTime(Promise.all([maintained, submitted, listening, this.#heartbeat.stop()]), leaveMs / 8)
    this.#unwatch?.()
    // An owner that has left counts as dead: what it could not hand back is taken up at once.
    await inTime(
      this.#dispatcher
        .once<boolean>((transaction) => this.#options.repository.unregister(transaction))
        .catch((error: unknown) => this.#listener.onError({ activity: 'heartbeat', error })),
    )
    this.#dispatcher.end(new TaskError('DATABASE_UNAVAILABLE', 'The node has stopped, and waits for the database no longer'))
    return joinReports(reports)
  }

  #batches(): Batch[] {
    return [...this.#managers.values()].flatMap((manager) => [...manager.batches])
  }

  #abort(reason: TaskError): void {
    for (const manager of this.#managers.values()) manager.abort(reason)
  }
}
