import { within } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { StopOptions } from './stop-report.ts'

/** The share of the remaining time that is kept for the last step. */
const lastPart = 1 / 8

/** How long a node's stop may take: the least that any of its callers allows. */
export class StopTime {
  readonly #clock: Clock
  #endMs = Infinity
  #lastMs = 0
  #shortened = Promise.withResolvers<void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Limits the stop from now on. A later end than the present one changes nothing. */
  allow({ graceMs, abortMs, leaveMs }: Required<StopOptions>): void {
    const endMs = this.#clock.monotonicMs() + graceMs + abortMs + leaveMs
    if (endMs >= this.#endMs) return
    this.#endMs = endMs
    this.#lastMs = leaveMs * lastPart
    this.#shortened.resolve()
    this.#shortened = Promise.withResolvers()
  }

  /** Resolves when `work` ends, or when no time is left for it. @param last whether this is the last step */
  async within(work: Promise<unknown>, last = false): Promise<void> {
    for (let endMs = -1; endMs !== this.#endMs;) {
      endMs = this.#endMs
      const ms = endMs - (last ? 0 : this.#lastMs) - this.#clock.monotonicMs()
      await within(this.#clock, Math.max(0, ms), Promise.race([work, this.#shortened.promise]))
    }
  }
}
