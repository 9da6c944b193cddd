import type { Clock } from '../core/clock.ts'
import type { LeasedBatch } from '../batches/leased-batch.ts'

/** How many tasks are held ahead of their handlers at most, and how many more may wait for their completion. */
export const mostAhead = 1_000

/** No more tasks are held ahead than were handled in so many milliseconds. */
const latelyMs = 100

/** How long a batch waits for its handler at most, in milliseconds. Then handlers hang, and another process may have its tasks. */
const longestWaitMs = 1_000

/** For how long batches follow each other at most, in milliseconds, before timers and the network have their turn. */
const turnMs = 10

/** The part of a leased batch that waiting needs. */
type WaitingBatch = Pick<LeasedBatch<never>, 'tasks' | 'isWaiting' | 'begin' | 'wait' | 'decline'>

export interface HeldAheadOptions {
  readonly clock: Clock
  /** The most tasks of a batch. */
  readonly size: number
  /** How many batches are handled at a time. */
  readonly concurrency: () => number
  /** Called when a handler has made room. */
  readonly onRoom: () => void
}

/**
 * Batches that are held before their handler begins, so that quick handlers need a poll, and a completion, for a thousand tasks and not for each batch.
 * Only as many are held ahead as were handled lately: others may have what a slow handler would keep waiting.
 */
export class HeldAhead {
  readonly #options: HeldAheadOptions
  readonly #waiting: { readonly batch: WaitingBatch; readonly sinceMs: number }[] = []
  /** How many batches are at their handlers. */
  #running = 0
  /** How many tasks wait for their handler, or are at it. */
  #unhandled = 0
  /** How many tasks are held, those included that wait for their completion. */
  #held = 0
  /** How many tasks were handled since `#countedMs`, and in the time before. */
  #handled = 0
  #handledBefore = 0
  #countedMs = 0
  #turnedMs = 0
  #isTurning = false
  #cancelAlarm: (() => void) | undefined

  constructor(options: HeldAheadOptions) {
    this.#options = options
  }

  /** How many tasks may be polled beside those that wait, or are at their handlers. Zero or less if there is no room. */
  get room(): number {
    return this.#bound - this.#unhandled
  }

  /** Whether there is room for a poll that is worth its while. */
  get mayPoll(): boolean {
    const { size } = this.#options
    return this.#held - this.#unhandled <= mostAhead && this.room >= Math.max(size, this.#bound / 2)
  }

  get #bound(): number {
    const { concurrency, size } = this.#options
    return Math.max(concurrency() * size, Math.min(mostAhead, this.#lately))
  }

  get #lately(): number {
    this.#age()
    return Math.max(this.#handled, this.#handledBefore)
  }

  /** Begins a batch, or has it wait for its turn. @returns a promise that resolves when the batch has ended */
  async add(batch: WaitingBatch): Promise<void> {
    const { length } = batch.tasks
    this.#unhandled += length
    this.#held += length
    await (this.#isFree && this.#waiting.length === 0 ? this.#begin(batch) : this.#wait(batch))
    this.#held -= length
  }

  /** Hands back what waits. Nothing is added any more. */
  close(): void {
    this.#cancelAlarm?.()
    for (const { batch } of this.#waiting) if (batch.isWaiting) void batch.decline()
  }

  get #isFree(): boolean {
    return this.#running < this.#options.concurrency()
  }

  #begin(batch: WaitingBatch): Promise<void> {
    const { onRoom } = this.#options
    let isRunning = true
    this.#running++
    const free = (): void => {
      if (!isRunning) return
      isRunning = false
      this.#running--
      this.#unhandled -= batch.tasks.length
      this.#age()
      this.#handled += batch.tasks.length
      this.#next()
      onRoom()
    }
    const ended = batch.begin(free)
    // A handler that does not let go has no batch any more.
    void ended.then(free)
    return ended
  }

  async #wait(batch: WaitingBatch): Promise<void> {
    const one = { batch, sinceMs: this.#options.clock.monotonicMs() }
    if (this.#waiting.length === 0) this.#turnedMs = one.sinceMs
    this.#waiting.push(one)
    this.#watch()
    await batch.wait()
    const index = this.#waiting.indexOf(one)
    if (index < 0) return
    // It was handed back before its turn.
    this.#waiting.splice(index, 1)
    this.#unhandled -= batch.tasks.length
    this.#options.onRoom()
  }

  /** Begins what waits, as far as there are handlers. */
  #next(): void {
    while (!this.#isTurning && this.#isFree) {
      // One that is being handed back leaves by itself.
      const index = this.#waiting.findIndex(({ batch }) => batch.isWaiting)
      if (index < 0) return
      if (this.#options.clock.monotonicMs() - this.#turnedMs >= turnMs) return this.#turn()
      const [next] = this.#waiting.splice(index, 1)
      void this.#begin(next!.batch)
    }
  }

  #turn(): void {
    this.#isTurning = true
    setImmediate(() => {
      this.#isTurning = false
      this.#turnedMs = this.#options.clock.monotonicMs()
      this.#next()
    })
  }

  /** Hands back batches that have waited too long. One timer is enough, as they wait in the order of their coming. */
  #watch(): void {
    const first = this.#waiting.find(({ batch }) => batch.isWaiting)
    if (this.#cancelAlarm || !first) return
    const { clock } = this.#options
    this.#cancelAlarm = clock.after(Math.max(0, first.sinceMs + longestWaitMs - clock.monotonicMs()), () => {
      this.#cancelAlarm = undefined
      const nowMs = clock.monotonicMs()
      for (const { batch, sinceMs } of this.#waiting)
        if (batch.isWaiting && nowMs - sinceMs >= longestWaitMs) void batch.decline()
      this.#watch()
    })
  }

  #age(): void {
    const nowMs = this.#options.clock.monotonicMs()
    const ageMs = nowMs - this.#countedMs
    if (ageMs < latelyMs) return
    this.#handledBefore = ageMs < 2 * latelyMs ? this.#handled : 0
    this.#handled = 0
    this.#countedMs = nowMs
  }
}
