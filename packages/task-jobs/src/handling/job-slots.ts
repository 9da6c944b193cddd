import type { Clock } from '@taskstream/task-processor'

/** So many milliseconds of work are polled ahead, so that quick handlers do not wait for the database after each job. */
const aheadMs = 50
/** How many jobs wait in a process at most. */
const mostAhead = 500
/** How long a job waits for its slot at most, in milliseconds. Then handlers hang, and another process may have it. */
const longestWaitMs = 1_000

/** The jobs of a definition that are handled at a time, and how many more are polled ahead. Handlers that take long have none that wait. */
export class JobSlots {
  readonly #concurrency: number
  readonly #isAhead: boolean
  readonly #waiting = new Set<() => void>()
  #running = 0
  /** About how long a job takes, with its commit, in milliseconds. Undefined before the first. */
  #tookMs: number | undefined

  /** @param isAhead whether jobs are polled ahead */
  constructor(concurrency: number, isAhead: boolean) {
    this.#concurrency = concurrency
    this.#isAhead = isAhead
  }

  /** How many jobs have a slot. */
  get busy(): number {
    return this.#running
  }

  get concurrency(): number {
    return this.#concurrency
  }

  /** How many jobs the process takes at a time, waiting ones included. */
  get capacity(): number {
    if (!this.#isAhead || this.#tookMs === undefined) return this.#concurrency
    const ahead = Math.floor((this.#concurrency * aheadMs) / Math.max(this.#tookMs, 0.1))
    return this.#concurrency + Math.min(ahead, mostAhead)
  }

  /** Waits for a slot, in the order of the calls. @returns whether there is one. If not, no more jobs are polled ahead for a while */
  async take(clock: Clock): Promise<boolean> {
    if (this.#running < this.#concurrency) {
      this.#running++
      return true
    }
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const begin = (): void => resolve(true)
    this.#waiting.add(begin)
    const cancel = clock.after(longestWaitMs, () => {
      this.#waiting.delete(begin)
      this.#tookMs = aheadMs * this.#concurrency + longestWaitMs
      resolve(false)
    })
    try {
      return await promise
    } finally {
      cancel()
    }
  }

  /** Gives a slot to the next. */
  free(): void {
    const [next] = this.#waiting
    if (!next) {
      this.#running--
      return
    }
    this.#waiting.delete(next)
    next()
  }

  /** Measures how long a job takes once it has its slot. */
  async measured<Result>(clock: Clock, work: () => Promise<Result>): Promise<Result> {
    const begunMs = clock.monotonicMs()
    try {
      return await work()
    } finally {
      const tookMs = clock.monotonicMs() - begunMs
      this.#tookMs = this.#tookMs === undefined ? tookMs : 0.9 * this.#tookMs + 0.1 * tookMs
    }
  }
}
