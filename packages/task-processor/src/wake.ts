/** A wake-up that is never lost: one that comes before the sleep ends it before it begins. */
export class Wake {
  #version = 0
  #sleeper: (() => void) | undefined

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
    // Timers beyond 2^31 ms would fire at once.
    const timer = setTimeout(resolve, Math.min(ms, 2_147_483_647))
    this.#sleeper = resolve
    await promise
    clearTimeout(timer)
    this.#sleeper = undefined
  }
}
