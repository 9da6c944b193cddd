import type { Batch } from '../batches/batch.ts'
import { every } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { SafeListener } from '../core/listener.ts'

export interface EventLoopOptions {
  readonly clock: Clock
  readonly listener: SafeListener
  /** After how many milliseconds a standstill is reported. */
  readonly blockedMs: number
  readonly batches: () => Iterable<Batch>
}

/** The pause between two looks. It is so short that the batch that blocked the event loop is still held when the standstill is found. */
const lookEveryMs = 100

/**
 * Reports a standstill of the event loop, with the batches that were being handled. During a standstill no heartbeat is sent, and timers are late.
 *
 * @returns a function that ends the watch
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
