import type { Execution, Outcome } from './execution.ts'

export interface RegisterOptions {
  /** Whether former owners of the same name count as dead from now on, before their lease has run out. Default false. */
  readonly exclusive?: boolean
}

export interface TaskOwner {
  readonly owner: string
  /** The instant of the last heartbeat, by the database's clock. */
  readonly heartbeat: Date
}

export interface ExpireOptions {
  /** After how long a silence an owner counts as dead; whole milliseconds, 0 to 100 years. */
  readonly olderThanMs: number
  /** What becomes of the tasks: `'expired'` (default), or `'ready'`, which makes a task fail if it has no tries left. */
  readonly then?: 'expired' | 'ready'
  /** How many tasks at most, 1 to 100 000. Default 10 000. Call again as long as that many are reported. */
  readonly limit?: number
}

/** How many tasks of dead owners became expired, ready or failed. */
export interface Expiry {
  readonly expired: number
  readonly ready: number
  readonly failed: number
  /** The topics in which tasks became ready, so that their nodes can be woken. */
  readonly topics: readonly string[]
}

/** Registers owners and watches their heartbeats. One heartbeat stands for all tasks of an owner. */
export interface TaskOwners<Transaction, E extends Execution = 'async'> {
  /** Registers this repository's owner. @returns whether it is new. @throws TaskError SCHEMA_* if the tables do not fit this release */
  register(transaction: Transaction, options?: RegisterOptions): Outcome<E, boolean>
  /**
   * Renews this owner's heartbeat.
   *
   * @returns whether the heartbeat there is earlier than the last `expire` of this repository has seen. Then the database was put back to an earlier moment,
   * as by a restore, and this owner may hold tasks that it knows nothing of: `reclaim` gives them back
   * @throws TaskError OWNER_UNKNOWN if the owner was never registered, or was removed as dead
   */
  heartbeat(transaction: Transaction): Outcome<E, boolean>
  /** Removes this owner. Tasks that it still holds can be expired at once. @returns whether it was registered */
  unregister(transaction: Transaction): Outcome<E, boolean>
  /** The other owners, by name, that had a heartbeat in the last `withinMs` milliseconds, 0 to 100 years. @throws TaskError ARGUMENT_INVALID */
  owners(transaction: Transaction, withinMs: number): Outcome<E, TaskOwner[]>
  /**
   * Removes the other owners whose last heartbeat is older than `olderThanMs` milliseconds, 0 to 100 years. The tasks that they hold can still be
   * expired. What processes have told of themselves is removed a week after they told it last.
   *
   * @returns how many owners were removed
   * @throws TaskError ARGUMENT_INVALID
   */
  purgeOwners(transaction: Transaction, olderThanMs: number): Outcome<E, number>
  /**
   * Takes the tasks of dead owners from them, in every topic. An owner is dead if its heartbeat is too old or it is not registered. This owner keeps
   * its tasks. Tasks that others are working on are passed over.
   *
   * @throws TaskError ARGUMENT_INVALID
   * @example
   * await tasks.expire(tx, { olderThanMs: 30_000, then: 'ready' })
   */
  expire(transaction: Transaction, options: ExpireOptions): Outcome<E, Expiry>
}
