import type { Clock } from '@taskstream/task-processor'

/** So many milliseconds of work are polled ahead, so that quick handlers do not wait for the database after each job. */
const aheadMs = 50
/** How many jobs wait in a process at most. */
const mostAhead = 500
/** How long a job waits for its slot at most, in milliseconds. Then handlers hang, and another process may have it. */
const longestWaitMs = 1_000

/** A job that waits for its slot. */
interface Waiting {
  readonly sinceMs: number
  readonly resolve: (hasSlot: boolean) => void
}

/** The jobs of a definition that are handled at a time, and how many more are polled ahead. Handlers that take long have none that wait. */
export class JobSlots {
  readonly #concurrency: number
  readonly #isAhead: boolean
  readonly #waiting: Waiting[] = []
  #running = 0
  /** About how long a job takes, with its commit, in milliseconds. Undefined before the first. */
  #tookMs: number | undefined
  #cancelAlarm: (() => void) | undefined

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

  /** Takes a slot if one is free. @returns whether there was one */
  take(): boolean {
    if (this.#running >= this.#concurrency) return false
    this.#running++
    return true
  }

  /** Waits for a slot, in the order of the calls. @returns whether there is one. If not, no more jobs are polled ahead for a while */
  wait(clock: Clock): Promise<boolean> {
    return new Promise((resolve) => {
      this.#waiting.push({ sinceMs: clock.monotonicMs(), resolve })
      this.#watch(clock)
    })
  }

  /** Gives a slot to the next. */
  free(): void {
    const next = this.#waiting.shift()
    if (next) next.resolve(true)
    else this.#running--
    if (this.#waiting.length > 0) return
    this.#cancelAlarm?.()
    this.#cancelAlarm = undefined
  }

  /** Learns how long a job took once it had its slot. */
  took(ms: number): void {
    this.#tookMs = this.#tookMs === undefined ? ms : 0.9 * this.#tookMs + 0.1 * ms
  }

  /** Turns away what has waited too long. One timer is enough, as all wait in the order of their coming. */
  #watch(clock: Clock): void {
    const [first] = this.#waiting
    if (this.#cancelAlarm || !first) return
    this.#cancelAlarm = clock.after(Math.max(0, first.sinceMs + longestWaitMs - clock.monotonicMs()), () => {
      this.#cancelAlarm = undefined
      const nowMs = clock.monotonicMs()
      while (this.#waiting.length > 0 && nowMs - this.#waiting[0]!.sinceMs >= longestWaitMs) {
        this.#tookMs = aheadMs * this.#concurrency + longestWaitMs
        this.#waiting.shift()!.resolve(false)
      }
      this.#watch(clock)
    })
  }
}
