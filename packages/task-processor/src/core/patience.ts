import type { Clock } from './clock.ts'
import { pauseMs } from './retry-policy.ts'

const firstPauseMs = 50
const longestPauseMs = 5_000

/** Makes growing pauses between attempts, until somebody ends them. */
export class Patience {
  readonly #clock: Clock
  #over = false
  /** Pauses under way. The set is made by the first pause, as most work succeeds at the first attempt. */
  #sleepers: Set<() => void> | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether the pauses were ended, so that an attempt under way is the last. */
  get isOver(): boolean {
    return this.#over
  }

  /** Ends all present and future pauses. */
  end(): void {
    this.#over = true
    this.wake()
  }

  /** Ends all present pauses. */
  wake(): void {
    for (const wake of this.#sleepers ?? []) wake()
  }

  /** Pauses after the `count`th failure in a row. */
  async pause(count: number): Promise<void> {
    if (this.#over) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#clock.after(pauseMs(count, firstPauseMs, 2, longestPauseMs, 0.5), resolve)
    this.#sleepers ??= new Set()
    this.#sleepers.add(resolve)
    await promise
    cancel()
    this.#sleepers.delete(resolve)
  }
}
