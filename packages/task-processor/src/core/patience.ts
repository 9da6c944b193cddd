import type { Clock } from './clock.ts'
import { pauseMs } from './retry-policy.ts'

const firstPauseMs = 50
const longestPauseMs = 5_000

/** Pauses between attempts, longer each time, until nobody waits any more. */
export class Patience {
  readonly #clock: Clock
  #over = false
  /** Made for the first pause: most work is done at the first attempt. */
  #sleepers: Set<() => void> | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Whether nobody waits any more: an attempt under way is the last. */
  get isOver(): boolean {
    return this.#over
  }

  /** Ends every pause. */
  end(): void {
    this.#over = true
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
