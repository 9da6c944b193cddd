import type { Clock } from '../core/clock.ts'
import type { SafeListener } from '../core/listener.ts'

/** How an owner stays alive. */
export interface Beating {
  /** Whether the lease holds at this moment. */
  readonly holds: boolean
  /** Begins to beat; the owner was registered at that moment of the clock, which counts as the first. @throws if it cannot */
  start(registeredMs: number): Promise<void>
  stop(): Promise<void>
}

export interface LeaseOptions {
  readonly listener: SafeListener
  readonly leaseMs: number
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** The lease is lost: called once, until it holds again. */
  readonly onLost: () => void
  /** The lease holds again. */
  readonly onRegained: () => void
}

/**
 * For how long an owner is certainly alive to others: measured by this process's monotonic clock, from the sending of the last beat that
 * came through. The database cannot have counted from any earlier moment.
 */
export class Lease {
  readonly #options: LeaseOptions
  #sentMs = 0
  #lost = false

  constructor(options: LeaseOptions) {
    this.#options = options
  }

  /** Asked, not only timed: a process that was stopped wakes with every timer late. */
  get holds(): boolean {
    const { leaseMs, clock, listener, onLost } = this.#options
    if (!this.#lost && clock.monotonicMs() - this.#sentMs > leaseMs) {
      this.#lost = true
      listener.onLeaseLost({ leaseMs })
      onLost()
    }
    return !this.#lost
  }

  /** A beat that was sent then has come through. */
  renew(sentMs: number): void {
    const { leaseMs, clock, onRegained } = this.#options
    this.#sentMs = Math.max(this.#sentMs, sentMs)
    if (this.#lost && clock.monotonicMs() - this.#sentMs <= leaseMs) {
      this.#lost = false
      onRegained()
    }
  }
}
