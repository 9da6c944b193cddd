import { checkTopic, TaskError } from '@taskstream/task-api'
import type { PushedTask, PushOptions, TaskCreation } from '@taskstream/task-api'
import type { Batch } from '../batches/batch.ts'
import { within } from '../core/clock.ts'
import { watchEventLoop } from '../polling/event-loop.ts'
import { unlimited } from '../polling/limiter.ts'
import type { TaskNodeOptions } from './node-options.ts'
import { makeNodeParts } from './node-parts.ts'
import type { NodeParts } from './node-parts.ts'
import { Patience } from '../core/patience.ts'
import { checkPoolSize } from './pool-size.ts'
import { waitsNoLonger } from '../liveness/presence.ts'
import { checkProcessOptions } from './process-options.ts'
import type { ProcessOptions } from './process-options.ts'
import { StartLog } from './start-report.ts'
import type { StartReport } from './start-report.ts'
import { checkStopOptions, joinReports } from './stop-report.ts'
import type { StopOptions, StopReport } from './stop-report.ts'
import { StopTime } from './stop-time.ts'
import { stream } from './stream.ts'
import type { StreamBatch, StreamOptions } from './stream.ts'
import { TaskManager } from './task-manager.ts'

/** How long the database may take for each step that undoes a failed start. */
const undoMs = 5_000

const starting = 'The node is being started already'
/** Why a node cannot be started, by its state. */
const refusals = {
  entering: starting,
  opening: starting,
  started: 'The node runs already',
  stopped: 'The node was stopped: make a new one',
} as const

/**
 * The worker of a process: an owner with its heartbeat, wake-ups, the maintenance of dead owners' tasks, and any number of topics.
 *
 * @example
 * await using node = new TaskNode({ repository: tasks, transactions: pgTransactions(pool), notifier: pgListener(() => new pg.Client(url)) })
 * node.process('invoices', { handler: eachTask(async (task) => { await send(task.input) }), size: 1000 })
 * await node.start()
 */
export class TaskNode<Transaction> implements AsyncDisposable {
  readonly #options: TaskNodeOptions<Transaction>
  readonly #parts: NodeParts<Transaction>
  readonly #managers: Map<string, TaskManager<Transaction>> = new Map()
  #unwatch: (() => void) | undefined
  /** `entering`: the owner is being registered; `opening`: topics are being started. */
  #state: 'new' | 'entering' | 'opening' | 'started' | 'stopped' = 'new'
  /** The start that is under way; never rejects. */
  #starting: Promise<unknown> | undefined
  /** Ends the attempts to initialize topics that were added after the start. */
  readonly #patience: Patience
  #stopping: Promise<StopReport> | undefined
  /** The time that is left for the stop. */
  readonly #stopTime: StopTime

  /** @throws TaskError ARGUMENT_INVALID */
  constructor(options: TaskNodeOptions<Transaction>) {
    this.#options = options
    this.#parts = makeNodeParts(options, {
      managers: () => this.#managers.values(),
      wake: (topic) => this.wake(topic),
      onLost: (reason) => this.#abort(reason),
    })
    const { clock } = this.#parts.settings
    this.#patience = new Patience(clock)
    this.#stopTime = new StopTime(clock)
  }

  /** The name of this node's owner in the database. */
  get owner(): string {
    return this.#options.repository.owner
  }

  /**
   * Why this node takes no tasks, or none of some topic, for the probes of an orchestrator: `starting`, `stopping`, `lease`, `schema`, `quiet`, `heartbeat`,
   * `poll mails`, `process mails`. Empty if it takes tasks. A topic that somebody has paused is no trouble.
   *
   * @example
   * response.writeHead(node.troubles.length > 0 ? 503 : 200).end(node.troubles.join(', '))
   */
  get troubles(): readonly string[] {
    if (this.#isStopped) return ['stopping']
    if (this.#state !== 'started') return ['starting']
    const { presence, reporting, hearing } = this.#parts
    return [
      ...(presence.heartbeat.holds ? [] : ['lease']),
      ...(reporting.isRefused ? ['schema'] : []),
      ...(reporting.isQuiet ? ['quiet'] : []),
      ...hearing.obstacles((topic) => this.#managers.get(topic)?.isActive ?? false),
    ]
  }

  /**
   * Whether nothing is being handled here, and each topic was polled in vain since it was last worth a poll: since a batch of it has ended, or this process
   * has pushed to it. Paused topics are not polled.
   */
  get isIdle(): boolean {
    return [...this.#managers.values()].every(({ isIdle }) => isIdle)
  }

  /**
   * Processes a topic, from now on or from the start of the node.
   *
   * @throws TaskError ARGUMENT_INVALID; LIFECYCLE if the topic is processed already, or the node was stopped; POOL_TOO_SMALL
   */
  process(topic: string, options: ProcessOptions<Transaction>): TaskManager<Transaction> {
    if (this.#state === 'stopped') throw new TaskError('LIFECYCLE', refusals.stopped, { topic })
    checkTopic(topic)
    if (this.#managers.has(topic))
      throw new TaskError('LIFECYCLE', `Topic "${topic}" is processed by this node already`, { topic })
    const { repository, transactions, limiter = unlimited } = this.#options
    const { settings, leftovers, look, dispatcher, listener, presence, reporting } = this.#parts
    const environment = {
      topic,
      repository,
      limiter,
      leftovers,
      look,
      dispatcher,
      listener,
      clock: settings.clock,
      wake: (touched: string) => this.wake(touched),
      defaultIdleMs: () => (presence.isNotified ? 3e4 : 1e3),
      lease: presence.heartbeat,
      isQuiet: () => reporting.takesNothing,
      mayStart: () => this.#isRunning,
    }
    const manager = new TaskManager(environment, checkProcessOptions(options, settings.leaseMs))
    if (this.#isRunning) checkPoolSize(transactions, [...this.#managers.values(), manager])
    if (this.#state === 'started') this.#begin(manager)
    else if (this.#state === 'opening') this.#beginLater(manager)
    this.#managers.set(topic, manager)
    return manager
  }

  /** Begins a topic that the start under way no longer takes in. If that start fails, the next one has the topic too. */
  #beginLater(manager: TaskManager<Transaction>): void {
    const { stops } = manager
    void this.#starting?.then(() => {
      // A topic that was stopped meanwhile stays so.
      if (this.#state === 'started' && manager.stops === stops) this.#begin(manager)
    })
  }

  /** Begins to process a topic that was added after the start. */
  #begin(manager: TaskManager<Transaction>): void {
    const { activations, listener } = this.#parts
    // `begin` waits for a database that is away, and reports topics that cannot be processed. Its other errors come from a stop.
    void activations.begin([manager], new StartLog(), this.#patience).catch((error: unknown) => {
      if (!this.#isStopped) listener.onFatal({ topic: manager.topic, error })
    })
  }

  /**
   * Yields the batches of a topic to a loop instead of a handler. The node must be started, before or after. While the loop works on a batch, another is
   * polled ahead. The topic is processed from the first batch that is asked for until the loop ends.
   *
   * @throws TaskError as `process`, when the first batch is asked for
   * @example
   * for await (const batch of node.stream('invoices', { size: 100, signal })) {
   *   await batch.complete(async (transaction, held) => store(transaction, held))
   * }
   */
  stream(topic: string, options: StreamOptions<Transaction> = {}): AsyncGenerator<StreamBatch<Transaction>, void, void> {
    return stream<Transaction>(
      topic,
      options,
      (given) => this.process(topic, given),
      async (manager) => {
        // A stop of the node already waits for these batches.
        if (this.#isRunning) await manager.stop()
        this.#managers.delete(topic)
      },
    )
  }

  /**
   * Registers the owner, initializes the topics, and begins to process.
   *
   * A topic that cannot be processed does not keep others from starting: its handler may not open, say, or the topic may have another order. Such a
   * topic goes to `onFatal` and to the report. If no topic can be processed, the start fails.
   *
   * A start that fails leaves nothing behind, and can be repeated. A start that is stopped meanwhile throws LIFECYCLE.
   *
   * @throws TaskError LIFECYCLE if the node is being started, runs, or was stopped; POOL_TOO_SMALL; SCHEMA_* if the tables do not fit; errors of the
   * database, the notifier or the heartbeat's thread; the first topic's error if no topic can be processed
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
    const { settings, listener, presence, maintenance, activations } = this.#parts
    try {
      await presence.enter(() => this.#checkGoOn())
      this.#state = 'opening'
      maintenance.start()
      await activations.begin(this.#managers.values(), log)
      this.#checkGoOn()
      log.checkAny()
    } catch (error) {
      // The stop undoes this start.
      if (this.#isStopped)
        throw new TaskError('LIFECYCLE', 'The node was stopped while it was being started', {}, { cause: error })
      this.#state = 'entering'
      const stopped = [...this.#managers.values()].map((manager) => manager.stop({ graceMs: 0 }))
      await Promise.all([maintenance.stop(), ...stopped])
      // Errors of the undo are ignored, as they usually repeat the start's error.
      await presence.undo((work) => within(settings.clock, undoMs, work), undoMs)
      if (!this.#isStopped) this.#state = 'new'
      throw error
    }
    this.#state = 'started'
    this.#unwatch = watchEventLoop({
      clock: settings.clock,
      blockedMs: settings.blockedMs,
      listener,
      batches: () => this.#batches().filter(({ isWaiting }) => !isWaiting),
    })
    activations.start()
    this.#parts.reporting.begin()
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
   * Pushes tasks in a transaction of the node, together with tasks that others submit at the same time. Resolves after the commit, and wakes the topic if
   * this node processes it. The node need not be started. See `Submitter`.
   *
   * @throws TaskError as `Submitter.submit`; LIFECYCLE if the node was stopped
   * @example
   * const [task] = await node.submit('invoices', { identifier: 'inv-1' })
   */
  submit(
    topic: string,
    creations: string | TaskCreation | Iterable<string | TaskCreation>,
    options: PushOptions = {},
  ): Promise<PushedTask[]> {
    return this.#parts.submitter.submit(topic, creations, options)
  }

  /** Has a topic polled soon, as there may be work. Without a topic, all topics are polled. */
  wake(topic?: string): void {
    if (topic === undefined) for (const manager of this.#managers.values()) manager.wake()
    else this.#managers.get(topic)?.wake()
  }

  /**
   * Stops every topic in phases, and removes the owner. A second call gets the same report, and may shorten the stop.
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

  /** Stops the node by the default times. A stop under way keeps its own. */
  async [Symbol.asyncDispose](): Promise<void> {
    await (this.#stopping ?? this.stop())
  }

  async #stop(options: Required<StopOptions>): Promise<StopReport> {
    const isNew = this.#state === 'new'
    this.#state = 'stopped'
    this.#patience.end()
    const { submitter, maintenance, activations, presence, listener, dispatcher } = this.#parts
    const submitted = submitter[Symbol.asyncDispose]()
    /** Limits the wait, as a database that hangs must not keep the process from ending. The lease then ends without us. */
    const inTime = (work: Promise<unknown>, last = false): Promise<void> => this.#stopTime.within(work, last)
    const maintained = Promise.all([maintenance.stop(), activations.stop()])
    // All topics stop at the same time, so that the report has all tasks that are held now. The heartbeat goes on, as tasks are still held.
    const reports = await Promise.all([...this.#managers.values()].map((manager) => manager.stop(options)))
    // A start under way ends at its next step.
    let isStarted = false
    const starting = this.#starting?.then(() => (isStarted = true))
    await inTime(Promise.all([maintained, submitted, starting]))
    this.#unwatch?.()
    // An owner that was removed counts as dead, so others take its remaining tasks at once.
    const leave = (): Promise<void> => presence.leave(inTime, (error) => listener.onError({ activity: 'heartbeat', error }))
    if (isStarted) await inTime(this.#parts.reporting.stop())
    if (!isNew) await leave()
    if (isStarted || !starting) dispatcher.close(waitsNoLonger())
    else {
      // A step of the start still hangs. Its effects are undone once it ends.
      dispatcher.end(waitsNoLonger())
      void starting.then(leave).then(() => dispatcher.close(waitsNoLonger()))
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
