import { TaskError } from '@taskstream/task-api'
import type { Execution, NotifierCallbacks, TaskNotifier, TaskRepository } from '@taskstream/task-api'
import type { Clock } from '../core/clock.ts'
import type { Dispatcher } from '../core/dispatcher.ts'
import { Heartbeat } from './heartbeat.ts'
import type { Beating } from './lease.ts'
import { Condition } from '../core/listener.ts'
import type { SafeListener } from '../core/listener.ts'
import { ThreadHeartbeat } from './thread-heartbeat.ts'
import type { HeartbeatThread } from './thread-heartbeat.ts'

export interface PresenceOptions<Transaction> {
  readonly repository: TaskRepository<Transaction, Execution>
  readonly dispatcher: Dispatcher<Transaction>
  readonly listener: SafeListener
  readonly clock: Clock
  readonly leaseMs: number
  readonly heartbeatIntervalMs: number
  readonly heartbeatThread: HeartbeatThread | undefined
  /** How long the database may take for a step of a beat. */
  readonly statementTimeoutMs: number
  readonly notifier: TaskNotifier | undefined
  readonly exclusive: boolean
  /** Called when the lease is lost, and others may take the tasks. */
  readonly onLost: (reason: TaskError) => void
  /** Called when the database was put back to an earlier moment. */
  readonly onPutBack: () => void
  /** Called when there may be work in a topic, or in any topic. */
  readonly wake: (topic?: string) => void
  readonly onActivation: (topic?: string) => void
}

/** Makes the error by which a stop gives up everything that is under way. */
export function waitsNoLonger(): TaskError {
  return new TaskError('DATABASE_UNAVAILABLE', 'The node has stopped, and waits for the database no longer')
}

/** The presence of a node in the database: its owner is registered and sends heartbeats, and its notifier listens. */
export class Presence<Transaction> {
  readonly #options: PresenceOptions<Transaction>
  /** Says whether the owner's lease holds. */
  readonly heartbeat: Beating
  #listening: AsyncDisposable | undefined
  /** Whether a notifier is connected, as far as is known. */
  #notified: boolean
  readonly #listenCondition: Condition
  /** The last registration after the owner was removed as dead. */
  #registering: Promise<unknown> = Promise.resolve()
  #isLeft = true

  constructor(options: PresenceOptions<Transaction>) {
    const { leaseMs, heartbeatIntervalMs, heartbeatThread, repository, onLost, wake } = options
    this.#options = options
    this.#notified = options.notifier !== undefined
    this.#listenCondition = new Condition(options.listener, 'listen')
    const lease = {
      ...options,
      intervalMs: heartbeatIntervalMs,
      onLost: () => onLost(new TaskError('LEASE_LOST', `No heartbeat has come through for ${leaseMs} ms`, { leaseMs })),
      onRegained: () => wake(),
    }
    this.heartbeat = heartbeatThread
      ? new ThreadHeartbeat({
          ...lease,
          owner: repository.owner,
          thread: heartbeatThread,
          onUnknown: () => void (this.#registering = this.#register()),
        })
      : new Heartbeat(lease)
  }

  /** Whether a notifier reports pushes. */
  get isNotified(): boolean {
    return this.#notified
  }

  /**
   * Registers the owner, begins to beat, and listens.
   *
   * @param checkGoOn throws if the start was stopped; called after each step
   * @throws the error of a step. The caller must then undo the steps before
   */
  async enter(checkGoOn: () => void): Promise<void> {
    const { repository, dispatcher, notifier, exclusive, clock } = this.#options
    this.#isLeft = false
    const registeredMs = clock.monotonicMs()
    await dispatcher.once<boolean>((transaction) => repository.register(transaction, { exclusive }))
    checkGoOn()
    this.#notified = notifier !== undefined
    // The notifier listens before the first poll, so that no push in between is missed.
    this.#listening = await notifier?.listen(this.#callbacks())
    checkGoOn()
    await this.heartbeat.start(registeredMs)
    checkGoOn()
  }

  /**
   * Stops the heartbeat and the notifier, and removes the owner, so that others take its remaining tasks at once. May be called again, to undo a step of
   * the start that ended late.
   *
   * @param inTime waits for work within the time of the stop; `last` says that nothing follows
   * @param onError called if the owner cannot be removed
   */
  async leave(
    inTime: (work: Promise<unknown>, last?: boolean) => Promise<void>,
    onError: (error: unknown) => void,
  ): Promise<void> {
    const { repository, dispatcher } = this.#options
    this.#isLeft = true
    await inTime(Promise.all([this.heartbeat.stop(), this.#stopListening()]))
    // Transactions under way may keep the only connection, which the removal needs.
    dispatcher.end(waitsNoLonger())
    await inTime(
      this.#registering.then(() => dispatcher.once<boolean>((transaction) => repository.unregister(transaction))).catch(onError),
      true,
    )
  }

  /**
   * Undoes a start that failed. Waits until the owner is removed or the removal is given up: a late removal would hit the next start.
   *
   * @param inTime waits for work for a limited time
   */
  async undo(inTime: (work: Promise<unknown>) => Promise<void>, statementTimeoutMs: number): Promise<void> {
    const { repository, dispatcher } = this.#options
    this.#isLeft = true
    await inTime(Promise.all([this.heartbeat.stop(), this.#stopListening()]))
    await this.#registering
    // An error is ignored, as it usually repeats the start's error.
    await dispatcher.once<boolean>((transaction) => repository.unregister(transaction), { statementTimeoutMs }).catch(() => {})
  }

  /** Never rejects: a notifier that cannot be closed keeps nobody from stopping. */
  async #stopListening(): Promise<void> {
    const listening = this.#listening
    this.#listening = undefined
    try {
      await listening?.[Symbol.asyncDispose]()
    } catch (error) {
      this.#options.listener.onError({ activity: 'listen', error })
    }
  }

  /** Registers the owner again after it was removed as dead. Its former tasks are gone. */
  async #register(): Promise<void> {
    const { repository, dispatcher, listener } = this.#options
    if (this.#isLeft) return
    await dispatcher
      .once<boolean>((transaction) => repository.register(transaction))
      .catch((error: unknown) => listener.onError({ activity: 'heartbeat', error }))
  }

  #callbacks(): NotifierCallbacks {
    const { listener, wake, onActivation } = this.#options
    return {
      onTasks: wake,
      onActivation,
      onDisconnected: (error) => {
        this.#notified = false
        this.#listenCondition.failed(error)
        // Loops must not sleep on for as long as they would with a notifier.
        wake()
      },
      onConnected: () => {
        this.#notified = true
        this.#listenCondition.worked()
      },
      onGivenUp: (error) => {
        this.#notified = false
        listener.onError({ activity: 'listen', error })
        wake()
      },
    }
  }
}
