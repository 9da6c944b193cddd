import type { Clock } from '../core/clock.ts'

/** A wake-up that is never lost: one that comes before the sleep ends it before it begins. */
export class Wake {
  readonly #clock: Clock
  #version = 0
  #sleeper: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** To be read before looking for work, and given to `sleep` when there was none. */
  get version(): number {
    return this.#version
  }

  wake(): void {
    this.#version++
    this.#sleeper?.()
  }

  /** Sleeps for so many milliseconds, or until woken since `version`. One sleeper at a time. */
  async sleep(version: number, ms: number): Promise<void> {
    if (version !== this.#version) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.#clock.after(ms, resolve)
    this.#sleeper = resolve
    await promise
    cancel()
    this.#sleeper = undefined
  }
}
