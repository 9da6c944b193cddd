import type { PollOptions } from '@taskstream/task-api'
import type { Leftovers } from '../batches/leftovers.ts'
import type { TaskLimiter } from './limiter.ts'
import type { SharedLimits } from './shared-limits.ts'

/** How a topic is polled. */
export interface PollSettings<Transaction> {
  readonly poll: PollOptions & { readonly size: number }
  readonly mode: 'leased' | 'transactional'
  readonly concurrency: number
  readonly idleMs: () => number
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
