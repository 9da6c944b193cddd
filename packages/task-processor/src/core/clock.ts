/** The time of a process, for pauses, leases and timeouts. The time of tasks is the database's. */
export interface Clock {
  /** Milliseconds since some moment; never goes back. */
  monotonicMs(): number
  /** Calls back once, when so many milliseconds have passed. @returns cancels that */
  after(ms: number, callback: () => void): () => void
}

/** Timers beyond 2^31 ms would fire at once. */
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

/** Calls back again and again, so many milliseconds from one call to the next. @returns ends that */
export function every(clock: Clock, ms: number, callback: () => void): () => void {
  let cancel = clock.after(ms, again)
  function again(): void {
    cancel = clock.after(ms, again)
    callback()
  }
  return () => cancel()
}

/** Resolves with `work`, or when so many milliseconds have passed, whichever is first. */
export async function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(ms, resolve)
  try {
    await Promise.race([work, promise])
  } finally {
    cancel()
  }
}
