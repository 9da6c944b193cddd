import type { Clock } from '@taskstream/task-processor'

/** A clock that goes from one moment that somebody waits for to the next, and keeps fractions of a millisecond. */
export interface RingingClock extends Clock {
  /** For how long it was asked to wait, each time. */
  readonly pauses: readonly number[]
  /** Moves on by so much; what waits for a moment on the way is called back then. */
  pass(ms: number): void
}

/** As often as that it is read by nobody who waits. */
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
