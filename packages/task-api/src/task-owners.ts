import type { Execution, Outcome } from './execution.ts'

export interface RegisterOptions {
  /** Former owners of the same name are dead from now on, not only when their lease has run out. Default false. */
  readonly exclusive?: boolean
}

export interface TaskOwner {
  readonly owner: string
  /** The last sign of life, by the database's clock. */
  readonly heartbeat: Date
}

export interface ExpireOptions {
  /** Owners that have been silent for longer are dead; whole milliseconds, 0 to 100 years. */
  readonly olderThanMs: number
  /** `'expired'` (default), or `'ready'`: ready again while tries are left, and failed otherwise. */
  readonly then?: 'expired' | 'ready'
  /** At most so many tasks, 1 to 100 000. Default 10 000: call again while as many are reported. */
  readonly limit?: number
}

/** What became of the tasks of dead owners. */
export interface Expiry {
  readonly expired: number
  readonly ready: number
  readonly failed: number
  /** The topics in which tasks are ready again, for waking their processors. */
  readonly topics: readonly string[]
}

/** Who holds tasks, and whether they live. An owner beats once for all of its tasks. */
export interface TaskOwners<Transaction, E extends Execution = 'async'> {
  /** Makes this repository's owner known. @returns whether it is new. @throws TaskError SCHEMA_* if the tables do not fit the code */
  register(transaction: Transaction, options?: RegisterOptions): Outcome<E, boolean>
  /** Says that the owner lives. @throws TaskError OWNER_UNKNOWN if it was never registered, or has been removed as dead */
  heartbeat(transaction: Transaction): Outcome<E, void>
  /** Removes the owner. What it still holds counts as held by the dead. @returns whether it was there */
  unregister(transaction: Transaction): Outcome<E, boolean>
  /** The other owners that gave a sign of life in the last `withinMs` milliseconds. */
  owners(transaction: Transaction, withinMs: number): Outcome<E, TaskOwner[]>
  /** Forgets the other owners that have been silent for longer than `olderThanMs`; what they hold can still be expired. @returns how many */
  purgeOwners(transaction: Transaction, olderThanMs: number): Outcome<E, number>
  /** Takes the tasks of dead owners from them. Never this owner's own. */
  expire(transaction: Transaction, options: ExpireOptions): Outcome<E, Expiry>
}
