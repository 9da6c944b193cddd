import type { Batch } from '../batches/batch.ts'
import { every } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { SafeListener } from '../core/listener.ts'

export interface EventLoopOptions {
  readonly clock: Clock
  readonly listener: SafeListener
  /** From how many milliseconds on it is told. */
  readonly blockedMs: number
  readonly batches: () => Iterable<Batch>
}

/** Looks often enough that what blocked the event loop is still being completed when it is found out. */
const lookEveryMs = 100

/**
 * Tells of an event loop that stood still, and of what was being handled then: no heartbeat is sent meanwhile, and no timer is on time.
 *
 * @returns ends that
 */
export function watchEventLoop({ clock, listener, blockedMs, batches }: EventLoopOptions): () => void {
  let lookedMs = clock.monotonicMs()
  return every(clock, lookEveryMs, () => {
    const now = clock.monotonicMs()
    const late = now - lookedMs - lookEveryMs
    lookedMs = now
    if (late >= blockedMs) listener.onBlocked({ blockedMs: late, batches: [...batches()].map(({ event }) => event) })
  })
}
