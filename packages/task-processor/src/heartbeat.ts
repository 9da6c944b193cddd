import { isTaskError } from '@taskstream/task-api'
import type { Execution, TaskRepository } from '@taskstream/task-api'
import { every } from './clock.ts'
import type { Clock } from './clock.ts'
import type { Dispatcher } from './dispatcher.ts'
import { Condition } from './listener.ts'
import type { SafeListener } from './listener.ts'

export interface HeartbeatOptions<Transaction> {
  readonly repository: TaskRepository<Transaction, Execution>
  readonly dispatcher: Dispatcher<Transaction>
  readonly listener: SafeListener
  readonly clock: Clock
  readonly intervalMs: number
  readonly leaseMs: number
  /** The lease is lost: called once, until it holds again. */
  readonly onLost: () => void
  /** The lease holds again. */
  readonly onRegained: () => void
}

/**
 * One beat for all that an owner holds. The lease is measured by this process's monotonic clock, from the sending of the last beat
 * that came through: the database cannot have counted from any earlier moment.
 */
export class Heartbeat<Transaction> {
  readonly #options: HeartbeatOptions<Transaction>
  readonly #condition: Condition
  #sentAt = 0
  #lost = false
  #end: (() => void) | undefined
  #beating: Promise<void> | undefined

  constructor(options: HeartbeatOptions<Transaction>) {
    this.#options = options
    this.#condition = new Condition(options.listener, 'heartbeat')
  }

  /** Whether the lease holds at this moment. Asked, not only timed: a process that was stopped wakes with every timer late. */
  get holds(): boolean {
    const { clock, leaseMs, listener } = this.#options
    if (!this.#lost && clock.monotonicMs() - this.#sentAt > leaseMs) {
      this.#lost = true
      listener.onLeaseLost({ leaseMs })
      this.#options.onLost()
    }
    return !this.#lost
  }

  /** Begins to beat. The owner has just been registered, which counts as the first. */
  start(registeredAt: number): void {
    this.#sentAt = registeredAt
    this.#end = every(this.#options.clock, this.#options.intervalMs, () => {
      // A beat that hangs is not joined by others, and the lease is looked at all the same.
      void this.holds
      this.#beating ??= this.#beat().finally(() => (this.#beating = undefined))
    })
  }

  async stop(): Promise<void> {
    this.#end?.()
    await this.#beating
  }

  async #beat(): Promise<void> {
    const { repository, dispatcher, clock, leaseMs } = this.#options
    const sentAt = clock.monotonicMs()
    try {
      await dispatcher
        .once<void>((transaction) => repository.heartbeat(transaction))
        .catch(async (error: unknown) => {
          // Removed as dead: what was held is gone, and the owner may begin anew.
          if (!isTaskError(error, 'OWNER_UNKNOWN')) throw error
          await dispatcher.once<boolean>((transaction) => repository.register(transaction))
        })
      this.#sentAt = sentAt
      this.#condition.worked()
      if (this.#lost && clock.monotonicMs() - sentAt <= leaseMs) {
        this.#lost = false
        this.#options.onRegained()
      }
    } catch (error) {
      this.#condition.failed(error)
    }
  }
}
