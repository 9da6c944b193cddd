import { TaskError } from '@taskstream/task-api'
import type { PushedTask, PushOptions, TaskCreation } from '@taskstream/task-api'
import { Activations } from './activations.ts'
import type { Batch } from '../batches/batch.ts'
import { within } from '../core/clock.ts'
import { Dispatcher } from '../core/dispatcher.ts'
import { watchEventLoop } from '../polling/event-loop.ts'
import { Leftovers } from '../batches/leftovers.ts'
import { unlimited } from '../polling/limiter.ts'
import { safeListener } from '../core/listener.ts'
import type { SafeListener } from '../core/listener.ts'
import { Maintenance } from './maintenance.ts'
import { checkNodeOptions } from './node-options.ts'
import type { NodeSettings, TaskNodeOptions } from './node-options.ts'
import { Patience } from '../core/patience.ts'
import { checkPoolSize } from './pool-size.ts'
import { Presence, waitsNoLonger } from '../liveness/presence.ts'
import { checkProcessOptions } from './process-options.ts'
import type { ProcessOptions } from './process-options.ts'
import { StartLog } from './start-report.ts'
import type { StartReport } from './start-report.ts'
import { checkStopOptions, joinReports } from './stop-report.ts'
import type { StopOptions, StopReport } from './stop-report.ts'
import { StopTime } from './stop-time.ts'
import { stream } from './stream.ts'
import type { StreamBatch, StreamOptions } from './stream.ts'
import { Submitter } from '../submit/submit.ts'
import { TaskManager } from './task-manager.ts'

/** How long the database may take for each thing that a start which has failed has to undo. */
const undoMs = 5_000

const starting = 'The node is being started already'
/** What keeps a node from being started. */
const refusals = {
  entering: starting,
  opening: starting,
  started: 'The node runs already',
  stopped: 'The node was stopped: make a new one',
} as const

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
  readonly #presence: Presence<Transaction>
  readonly #leftovers: Leftovers<Transaction>
  readonly #maintenance: Maintenance<Transaction>
  readonly #activations: Activations<Transaction>
  readonly #submitter: Submitter<Transaction>
  readonly #managers: Map<string, TaskManager<Transaction>> = new Map()
  #unwatch: (() => void) | undefined
  /** `entering`: not there yet; `opening`: topics are started one by one. */
  #state: 'new' | 'entering' | 'opening' | 'started' | 'stopped' = 'new'
  /** The start that is under way; never rejects. */
  #starting: Promise<unknown> | undefined
  /** Ends the attempts to make topics known that have come late. */
  readonly #patience: Patience
  #stopping: Promise<StopReport> | undefined
  /** What is left of the time for the stop. */
  readonly #stopTime: StopTime

  /** @throws TaskError ARGUMENT_INVALID */
  constructor(options: TaskNodeOptions<Transaction>) {
    const { repository, listener = {}, heartbeatThread, notifier, exclusive = false } = options
    this.#options = options
    this.#settings = checkNodeOptions(options)
    const { clock, leaseMs, heartbeatIntervalMs, maintenanceIntervalMs, statementTimeoutMs } = this.#settings
    this.#dispatcher = new Dispatcher({ repository, transactions: options.transactions, statementTimeoutMs })
    const transactions = this.#dispatcher.source
    this.#submitter = new Submitter({ repository, transactions, onCommitted: (topic) => this.wake(topic) })
    this.#listener = safeListener(listener)
    const shared = { repository, clock, leaseMs, dispatcher: this.#dispatcher, listener: this.#listener }
    this.#presence = new Presence({
      ...shared,
      heartbeatIntervalMs,
      heartbeatThread,
      // The next beat goes over another connection: it must come before the lease has run out.
      statementTimeoutMs: Math.min(statementTimeoutMs, Math.ceil((leaseMs - heartbeatIntervalMs) / 3)),
      notifier,
      exclusive,
      onLost: (reason) => this.#abort(reason),
      wake: (topic) => this.wake(topic),
      onActivation: (topic) => this.#activations.look(topic),
    })
    this.#patience = new Patience(clock)
    this.#stopTime = new StopTime(clock)
    this.#leftovers = new Leftovers(shared)
    this.#maintenance = new Maintenance({
      ...shared,
      leftovers: this.#leftovers,
      intervalMs: maintenanceIntervalMs,
      expireTo: this.#settings.expireTo,
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
    if (this.#state === 'stopped') throw new TaskError('LIFECYCLE', refusals.stopped, { topic })
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
      defaultIdleMs: () => (this.#presence.isNotified ? 3e4 : 1e3),
      lease: this.#presence.heartbeat,
      mayStart: () => this.#isRunning,
    }
    const manager = new TaskManager(environment, checkProcessOptions(options, this.#settings.leaseMs))
    if (this.#state === 'started') {
      checkPoolSize(transactions, [...this.#managers.values(), manager])
      // A database that is away is waited for. Topics that cannot be processed are told by `begin`; what else it throws comes of the stop.
      void this.#activations.begin([manager], new StartLog(), this.#patience).catch((error: unknown) => {
        if (!this.#isStopped) this.#listener.onFatal({ topic, error })
      })
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
        if (this.#isRunning) await manager.stop()
        this.#managers.delete(topic)
      },
    )
  }

  /**
   * Registers the owner, makes the topics known, and begins.
   *
   * One topic that cannot be processed keeps no other from it: its handler does not open, say, or it is there with another order. `onFatal` is
   * told, and the report. When that is so of every topic, the start fails.
   *
   * A start that fails leaves nothing behind, and can be repeated. One that is stopped meanwhile ends by LIFECYCLE.
   *
   * @throws TaskError LIFECYCLE if the node is being started, runs, or was stopped; POOL_TOO_SMALL; SCHEMA_* if the tables do not fit; what the
   * database, the notifier or the heartbeat's thread throws; what is wrong with its topics, if none can be processed
   */
  async start(): Promise<StartReport> {
    if (this.#state !== 'new') throw new TaskError('LIFECYCLE', refusals[this.#state])
    checkPoolSize(this.#options.transactions, this.#managers.values())
    this.#state = 'entering'
    const starting = this.#start()
    this.#starting = starting.catch(() => {})
    return starting
  }

  async #start(): Promise<StartReport> {
    const log = new StartLog()
    try {
      await this.#presence.enter(() => this.#checkGoOn())
      this.#state = 'opening'
      this.#maintenance.start()
      await this.#activations.begin(this.#managers.values(), log)
      this.#checkGoOn()
      log.checkAny()
    } catch (error) {
      // What there is to be undone then, the stop undoes.
      if (this.#isStopped)
        throw new TaskError('LIFECYCLE', 'The node was stopped while it was being started', {}, { cause: error })
      this.#state = 'entering'
      const stopped = [...this.#managers.values()].map((manager) => manager.stop({ graceMs: 0 }))
      await Promise.all([this.#maintenance.stop(), ...stopped])
      // What keeps it from leaving in order is most often what it has failed for.
      await this.#presence.undo((work) => within(this.#settings.clock, undoMs, work), undoMs)
      if (!this.#isStopped) this.#state = 'new'
      throw error
    }
    this.#state = 'started'
    this.#unwatch = watchEventLoop({
      clock: this.#settings.clock,
      listener: this.#listener,
      blockedMs: this.#settings.blockedMs,
      batches: () => this.#batches(),
    })
    this.#activations.start()
    return log
  }

  get #isRunning(): boolean {
    return this.#state === 'opening' || this.#state === 'started'
  }

  get #isStopped(): boolean {
    return this.#state === 'stopped'
  }

  #checkGoOn(): void {
    if (this.#isStopped) throw new TaskError('LIFECYCLE', refusals.stopped)
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

  /**
   * Stops every topic in phases, and leaves. Called again, it reports the same, and takes no longer than whoever asks for it again allows.
   *
   * @throws TaskError ARGUMENT_INVALID
   */
  stop(options: StopOptions = {}): Promise<StopReport> {
    const checked = checkStopOptions(options)
    this.#stopTime.allow(checked)
    if (this.#stopping) for (const manager of this.#managers.values()) void manager.stop(checked)
    this.#stopping ??= this.#stop(checked)
    return this.#stopping
  }

  /** A stop under way keeps the time that it was given. */
  async [Symbol.asyncDispose](): Promise<void> {
    await (this.#stopping ?? this.stop())
  }

  async #stop(options: Required<StopOptions>): Promise<StopReport> {
    const isNew = this.#state === 'new'
    this.#state = 'stopped'
    this.#patience.end()
    const submitted = this.#submitter[Symbol.asyncDispose]()
    /** A database that hangs keeps no process from ending: what it does not get to know it will find out by the lease. */
    const inTime = (work: Promise<unknown>, last = false): Promise<void> => this.#stopTime.within(work, last)
    const maintained = Promise.all([this.#maintenance.stop(), this.#activations.stop()])
    // At once, so that what is held now is what is reported. The heart beats to the end: what is still handled is still held.
    const reports = await Promise.all([...this.#managers.values()].map((manager) => manager.stop(options)))
    // A start under way ends at its next step.
    let isStarted = false
    const starting = this.#starting?.then(() => (isStarted = true))
    await inTime(Promise.all([maintained, submitted, starting]))
    this.#unwatch?.()
    // An owner that has left counts as dead: what it could not hand back is taken up at once.
    const leave = (): Promise<void> =>
      this.#presence.leave(inTime, (error) => this.#listener.onError({ activity: 'heartbeat', error }))
    if (!isNew) await leave()
    if (isStarted || !starting) this.#dispatcher.close(waitsNoLonger())
    else {
      // What a step brings that hangs is undone when it comes.
      this.#dispatcher.end(waitsNoLonger())
      void starting.then(leave).then(() => this.#dispatcher.close(waitsNoLonger()))
    }
    return joinReports(reports)
  }

  #batches(): Batch[] {
    return [...this.#managers.values()].flatMap((manager) => [...manager.batches])
  }

  #abort(reason: TaskError): void {
    for (const manager of this.#managers.values()) manager.abort(reason)
  }
}
