import { checkInteger, invalid, TaskError } from '@taskstream/task-api'
import type { Execution, TaskNotifier, TaskRepository, TransactionSource } from '@taskstream/task-api'
import { Dispatcher } from './dispatcher.ts'
import { Heartbeat } from './heartbeat.ts'
import { safeListener } from './listener.ts'
import type { SafeListener, TaskListener } from './listener.ts'
import { Maintenance } from './maintenance.ts'
import { openHandler } from './task-handler.ts'
import { TaskManager } from './task-manager.ts'
import type { ProcessOptions, StopOptions, StopReport } from './task-manager.ts'

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
  /** How often the tasks of dead owners are looked for, in milliseconds. Default: half the lease. */
  readonly maintenanceIntervalMs?: number
  /** Former nodes of the same owner name are dead from the start of this one. Default false. */
  readonly exclusive?: boolean
  readonly listener?: TaskListener
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
  readonly #dispatcher: Dispatcher<Transaction>
  readonly #listener: SafeListener
  readonly #heartbeat: Heartbeat<Transaction>
  readonly #maintenance: Maintenance<Transaction>
  readonly #managers: Map<string, TaskManager<Transaction>> = new Map()
  #listening: AsyncDisposable | undefined
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
      listener = {},
    } = options
    checkInteger('heartbeatIntervalMs', heartbeatIntervalMs, 10, 86_400_000)
    checkInteger('leaseMs', leaseMs, 1, 7 * 86_400_000)
    checkInteger('maintenanceIntervalMs', maintenanceIntervalMs, 10, 86_400_000)
    if (leaseMs <= 2 * heartbeatIntervalMs) throw invalid('leaseMs', leaseMs, 'must be more than twice heartbeatIntervalMs')
    this.#options = options
    this.#notified = options.notifier !== undefined
    this.#dispatcher = new Dispatcher(options.transactions)
    this.#listener = safeListener(listener)
    const shared = { repository, dispatcher: this.#dispatcher, listener: this.#listener, leaseMs }
    this.#heartbeat = new Heartbeat({
      ...shared,
      intervalMs: heartbeatIntervalMs,
      onLost: () => this.#abort(new TaskError('LEASE_LOST', `No heartbeat has come through for ${leaseMs} ms`, { leaseMs })),
      onRegained: () => this.wake(),
    })
    this.#maintenance = new Maintenance({
      ...shared,
      intervalMs: maintenanceIntervalMs,
      onReady: (topics) => topics.forEach((topic) => this.wake(topic)),
      retained: () => this.#managers.values(),
    })
  }

  /** Who this node is, in the database. */
  get owner(): string {
    return this.#options.repository.owner
  }

  /**
   * Processes a topic, from the start of the node, or from now on if it is started.
   *
   * @throws TaskError ARGUMENT_INVALID; LIFECYCLE if the topic is processed already, or the node was stopped
   */
  process(topic: string, options: ProcessOptions<Transaction>): TaskManager<Transaction> {
    if (this.#state === 'stopped') throw new TaskError('LIFECYCLE', 'The node was stopped: make a new one', { topic })
    if (this.#managers.has(topic))
      throw new TaskError('LIFECYCLE', `Topic "${topic}" is processed by this node already`, { topic })
    const { repository } = this.#options
    const environment = {
      topic,
      repository,
      dispatcher: this.#dispatcher,
      handler: openHandler(options.handler, topic).handle,
      retry: options.retry,
      listener: this.#listener,
      wake: (touched: string) => this.wake(touched),
    }
    const idleMs = (): number => (this.#notified ? 30_000 : 1_000)
    const manager = new TaskManager(environment, options, idleMs, () => this.#heartbeat.holds)
    this.#managers.set(topic, manager)
    if (this.#state === 'started') void this.#join(manager)
    return manager
  }

  /**
   * Registers the owner, makes the topics known, and begins.
   *
   * @throws TaskError LIFECYCLE on a second start; SCHEMA_* if the tables do not fit; what the database throws: nothing runs then
   */
  async start(): Promise<void> {
    if (this.#state !== 'new') throw new TaskError('LIFECYCLE', `The node was ${this.#state} already: make a new one`)
    const { repository, notifier, exclusive = false } = this.#options
    const registeredAt = performance.now()
    await this.#dispatcher.once(async (transaction) => {
      await repository.register(transaction, { exclusive })
      for (const { topic, topicOptions } of this.#managers.values()) await repository.initialize(transaction, topic, topicOptions)
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
    this.#heartbeat.start(registeredAt)
    this.#maintenance.start()
    for (const manager of this.#managers.values()) manager.start()
  }

  /** A topic that comes when the node runs already is made known first; if that fails, its polls will say so too. */
  async #join(manager: TaskManager<Transaction>): Promise<void> {
    const { topic, topicOptions } = manager
    await this.#dispatcher
      .once<boolean>((transaction) => this.#options.repository.initialize(transaction, topic, topicOptions))
      .catch((error: unknown) => this.#listener.onError({ activity: 'poll', topic, error }))
    if (this.#state === 'started') manager.start()
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
    if (!started) return { finished: [], returned: [], abandoned: [] }
    const maintained = this.#maintenance.stop()
    // At once, so that what is held now is what is reported. The heart beats to the end: what is still handled is still held.
    const reports = await Promise.all([...this.#managers.values()].map((manager) => manager.stop(options)))
    await maintained
    await this.#heartbeat.stop()
    await this.#listening?.[Symbol.asyncDispose]()
    // An owner that has left counts as dead: what it could not hand back is taken up at once.
    await this.#dispatcher
      .once<boolean>((transaction) => this.#options.repository.unregister(transaction))
      .catch((error: unknown) => this.#listener.onError({ activity: 'heartbeat', error }))
    return {
      finished: reports.flatMap(({ finished }) => finished),
      returned: reports.flatMap(({ returned }) => returned),
      abandoned: reports.flatMap(({ abandoned }) => abandoned),
    }
  }

  #abort(reason: TaskError): void {
    for (const manager of this.#managers.values()) manager.abort(reason)
  }
}
