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
  /** The lease is lost: what is held may be taken over. */
  readonly onLost: (reason: TaskError) => void
  /** There may be work in a topic, or in any. */
  readonly wake: (topic?: string) => void
  readonly onActivation: (topic?: string) => void
}

/** Why what is under way is given up in the end. */
export function waitsNoLonger(): TaskError {
  return new TaskError('DATABASE_UNAVAILABLE', 'The node has stopped, and waits for the database no longer')
}

/** That a node is there: its owner is registered, a heart beats for it, and it hears of new tasks. Entered once at a time, and left. */
export class Presence<Transaction> {
  readonly #options: PresenceOptions<Transaction>
  /** Says whether the owner's lease holds. */
  readonly heartbeat: Beating
  #listening: AsyncDisposable | undefined
  /** Whether there is a notifier that hears, for all that is known. */
  #notified: boolean
  readonly #listenCondition: Condition
  /** Being registered anew. */
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

  /** Whether pushes are heard of. */
  get isNotified(): boolean {
    return this.#notified
  }

  /**
   * @param checkGoOn throws when it is not to go on; asked after each step
   * @throws what a step throws; what was entered by then is still to be left
   */
  async enter(checkGoOn: () => void): Promise<void> {
    const { repository, dispatcher, notifier, exclusive, clock } = this.#options
    this.#isLeft = false
    const registeredMs = clock.monotonicMs()
    await dispatcher.once<boolean>((transaction) => repository.register(transaction, { exclusive }))
    checkGoOn()
    this.#notified = notifier !== undefined
    // Listening comes before the first poll: what is pushed in between is found by one or the other.
    this.#listening = await notifier?.listen(this.#callbacks())
    checkGoOn()
    await this.heartbeat.start(registeredMs)
    checkGoOn()
  }

  /**
   * Ends all of it; the owner counts as dead then, and what it could not hand back is taken up at once. May be called again, for what a step that
   * hung has brought since.
   *
   * @param inTime waits for a thing that is left to be done, for no longer than that may take; `last` if nothing follows
   * @param onError told when the owner cannot be removed
   */
  async leave(
    inTime: (work: Promise<unknown>, last?: boolean) => Promise<void>,
    onError: (error: unknown) => void,
  ): Promise<void> {
    const { repository, dispatcher } = this.#options
    this.#isLeft = true
    const listening = this.#listening
    this.#listening = undefined
    await inTime(Promise.all([this.heartbeat.stop(), listening?.[Symbol.asyncDispose]()]))
    // What is under way still keeps a connection, or the only one.
    dispatcher.end(waitsNoLonger())
    await inTime(
      this.#registering.then(() => dispatcher.once<boolean>((transaction) => repository.unregister(transaction))).catch(onError),
      true,
    )
  }

  /**
   * Ends what a start that failed has entered. The removal of the owner is waited for, or given up: late, it would be that of the next start.
   *
   * @param inTime waits for a thing that is left to be done, for no longer than that may take
   */
  async undo(inTime: (work: Promise<unknown>) => Promise<void>, statementTimeoutMs: number): Promise<void> {
    const { repository, dispatcher } = this.#options
    this.#isLeft = true
    const listening = this.#listening
    this.#listening = undefined
    await inTime(Promise.all([this.heartbeat.stop(), listening?.[Symbol.asyncDispose]()]))
    await this.#registering
    // What keeps it from leaving in order is most often what the start has failed for.
    await dispatcher.once<boolean>((transaction) => repository.unregister(transaction), { statementTimeoutMs }).catch(() => {})
  }

  /** Removed as dead, the owner begins anew; what it held is gone. */
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
        // Nobody sleeps on for as long as a notifier would have allowed.
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
