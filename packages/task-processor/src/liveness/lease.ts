import type { Clock } from '../core/clock.ts'
import type { SafeListener } from '../core/listener.ts'

/** How an owner stays alive. */
export interface Beating {
  /** Whether the lease holds at this moment. */
  readonly holds: boolean
  /** Begins to beat. The registration, at `registeredMs` of the clock, counts as the first beat. @throws an error if no beat can be sent */
  start(registeredMs: number): Promise<void>
  stop(): Promise<void>
}

export interface LeaseOptions {
  readonly listener: SafeListener
  readonly leaseMs: number
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Called once when the lease is lost. */
  readonly onLost: () => void
  /** Called when the lease holds again. */
  readonly onRegained: () => void
}

/**
 * Tells whether an owner certainly counts as alive. The time runs from the sending of the last beat that came through, by the monotonic clock of this
 * process. The database counts from that moment or later.
 */
export class Lease {
  readonly #options: LeaseOptions
  #sentMs = 0
  #lost = false

  constructor(options: LeaseOptions) {
    this.#options = options
  }

  /** Whether the lease holds. Each access checks the time, as timers are late after a process was suspended. */
  get holds(): boolean {
    const { leaseMs, clock, listener, onLost } = this.#options
    if (!this.#lost && clock.monotonicMs() - this.#sentMs > leaseMs) {
      this.#lost = true
      listener.onLeaseLost({ leaseMs })
      onLost()
    }
    return !this.#lost
  }

  /** Notes that a beat, which was sent at `sentMs`, has come through. */
  renew(sentMs: number): void {
    const { leaseMs, clock, onRegained } = this.#options
    this.#sentMs = Math.max(this.#sentMs, sentMs)
    if (this.#lost && clock.monotonicMs() - this.#sentMs <= leaseMs) {
      this.#lost = false
      onRegained()
    }
  }
}
