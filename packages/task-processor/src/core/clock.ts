/** The time of a process, for pauses, leases and timeouts. The time of tasks is the database's. */
export interface Clock {
  /** The milliseconds since an arbitrary moment. The value never decreases. */
  monotonicMs(): number
  /** Calls `callback` once after `ms` milliseconds. @returns a function that cancels the call */
  after(ms: number, callback: () => void): () => void
}

/** The longest timer of Node.js, as a longer one would fire at once. */
const longestTimerMs = 2_147_483_647

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  after: (ms, callback) => {
    const rest = ms - longestTimerMs
    const onTime = rest > 0 ? (): void => void (cancel = systemClock.after(rest, callback)) : callback
    const timer = setTimeout(onTime, Math.min(ms, longestTimerMs))
    let cancel = (): void => clearTimeout(timer)
    return () => cancel()
  },
}

/** Calls `callback` repeatedly, every `ms` milliseconds, and first after `firstMs`. @returns a function that ends the calls */
export function every(clock: Clock, ms: number, callback: () => void, firstMs: number = ms): () => void {
  let cancel = clock.after(firstMs, again)
  function again(): void {
    cancel = clock.after(ms, again)
    callback()
  }
  return () => cancel()
}

/** Resolves when `work` ends, or after `ms` milliseconds, whichever comes first. */
export async function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(ms, resolve)
  try {
    await Promise.race([work, promise])
  } finally {
    cancel()
  }
}
