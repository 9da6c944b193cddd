import type { PollOptions } from '@taskstream/task-api'
import type { Leftovers } from '../batches/leftovers.ts'
import type { SharedLook } from './shared-look.ts'
import type { TaskLimiter } from './limiter.ts'
import type { SharedLimits } from './shared-limits.ts'

/** How a topic is polled. */
export interface PollSettings<Transaction> {
  readonly poll: PollOptions & { readonly size: number }
  readonly mode: 'leased' | 'transactional'
  /** How many batches are held at a time, or handled at a time if more may be held ahead. */
  readonly concurrency: number
  /** Whether batches may be held ahead of their handlers, as nobody has said how many. */
  readonly mayHoldAhead: boolean
  readonly idleMs: () => number
  /** Looks at the topic while the loop sleeps, together with others. */
  readonly look: SharedLook<Transaction>
  readonly limiter: TaskLimiter
  /** The limits that all processes keep together. */
  readonly limits: SharedLimits<Transaction>
  /** The owner's lease. Nothing is polled unless it holds. */
  readonly lease: { readonly holds: boolean }
  /** Whether the node was asked to take no more tasks. */
  readonly isQuiet: () => boolean
  /** Tasks that earlier batches have left held. */
  readonly leftovers: Leftovers<Transaction>
  /** Called when the loop has ended by an error, and does not go on. */
  readonly onFatal: (error: unknown) => void
}
