import type { Clock } from '../core/clock.ts'

/** A wake-up that is never lost: if it comes before the sleep, the sleep ends at once. */
export class Wake {
  readonly #clock: Clock
  #version = 0
  #sleeper: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The number of wake-ups so far. Read it before looking for work, and pass it to `sleep`. */
  get version(): number {
    return this.#version
  }

  wake(): void {
    this.#version++
    this.#sleeper?.()
  }

  /** Sleeps for `ms` milliseconds, which may be infinite, or until a wake-up after `version`. Only one sleeper at a time is allowed. */
  async sleep(version: number, ms: number): Promise<void> {
    if (version !== this.#version) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = ms < Infinity ? this.#clock.after(ms, resolve) : (): void => {}
    this.#sleeper = resolve
    await promise
    cancel()
    this.#sleeper = undefined
  }
}
