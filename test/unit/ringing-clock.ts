/** A clock for unit tests: it jumps from one awaited moment to the next, keeps fractions of a millisecond, and detects endless loops. */
import type { Clock } from '@taskstream/task-processor'

export interface RingingClock extends Clock {
  /** The milliseconds of each wait that was asked for. */
  readonly pauses: readonly number[]
  /** Moves on by `ms`, and calls back every wait that ends on the way. */
  pass(ms: number): void
}

/** Code that reads the clock more often than this is taken for an endless loop. */
const enough = 10_000

export function ringingClock(): RingingClock {
  let nowMs = 0
  const pauses: number[] = []
  let reads = 0
  const waiting = new Map<() => void, number>()
  const next = (endMs: number): (() => void) | undefined =>
    [...waiting].filter(([, atMs]) => atMs <= endMs).toSorted(([, left], [, right]) => left - right)[0]?.[0]
  return {
    pauses,
    monotonicMs: () => {
      if (++reads > enough) throw new Error('somebody goes on for ever')
      return nowMs
    },
    after: (ms, callback) => {
      pauses.push(ms)
      const ring = (): void => callback()
      waiting.set(ring, nowMs + ms)
      return () => void waiting.delete(ring)
    },
    pass: (ms) => {
      const endMs = nowMs + ms
      for (let ring = next(endMs); ring; ring = next(endMs)) {
        nowMs = Math.max(nowMs, waiting.get(ring)!)
        waiting.delete(ring)
        ring()
      }
      nowMs = endMs
    },
  }
}
