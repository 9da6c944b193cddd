import { within } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { StopOptions } from './stop-report.ts'

/** Of the time for what is left to be done, so much is kept for the last thing. */
const lastPart = 1 / 8

/** How long a node's stop may take: no longer than anybody allows who asks for it. */
export class StopTime {
  readonly #clock: Clock
  #endMs = Infinity
  #lastMs = 0
  #shortened = Promise.withResolvers<void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** From now on. What is allowed beyond what is allowed already changes nothing. */
  allow({ graceMs, abortMs, leaveMs }: Required<StopOptions>): void {
    const endMs = this.#clock.monotonicMs() + graceMs + abortMs + leaveMs
    if (endMs >= this.#endMs) return
    this.#endMs = endMs
    this.#lastMs = leaveMs * lastPart
    this.#shortened.resolve()
    this.#shortened = Promise.withResolvers()
  }

  /** Resolves with `work`, or when there is no time left for it. `last`: nothing follows. */
  async within(work: Promise<unknown>, last = false): Promise<void> {
    for (let endMs = -1; endMs !== this.#endMs;) {
      endMs = this.#endMs
      const ms = endMs - (last ? 0 : this.#lastMs) - this.#clock.monotonicMs()
      await within(this.#clock, Math.max(0, ms), Promise.race([work, this.#shortened.promise]))
    }
  }
}
