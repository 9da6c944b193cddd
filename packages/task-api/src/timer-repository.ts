import type { Execution, Outcome } from './execution.ts'
import type { TaskRepository } from './task-repository.ts'
import type { NewTimer, StoredTimer, TimerChange, TimerKey, TimerStatus } from './timer.ts'

/** The name under which a notifier is told that timers have changed. No topic of this name is meant. */
export const timersName = 'taskstream:timers'

/** Why no timer was found that is due. */
export type NoTimerDue =
  /** Nothing is due; something is in so many milliseconds, if anything ever. */
  | { readonly outcome: 'idle'; readonly afterMs?: number }
  /** Others are at all that is due. */
  | { readonly outcome: 'busy' }

/** Which timers are meant: those that meet everything that is given. */
export interface TimerFilter {
  readonly scope?: string | undefined
  readonly name?: string | undefined
  readonly application?: string | undefined
}

/**
 * Keeps timers. A scheduler decides when they fire, with these verbs in the caller's own transaction; the repository opens, commits and rolls
 * back nothing. An occurrence is submitted once, because the transaction that pushes its task also moves the timer on.
 *
 * A repository needs no SQL. It needs locks that last until the transaction ends, and one clock.
 */
export interface TimerRepository<Transaction, E extends Execution = 'async'> {
  /**
   * Asked once, before a scheduler begins.
   *
   * @throws TaskError SCHEMA_MISSING, SCHEMA_OLDER, SCHEMA_NEWER unless this release works on what is kept there; PERMISSION_DENIED
   */
  check(transaction: Transaction): Outcome<E, void>
  /**
   * What time it is by the clock that says what is due, in epoch milliseconds.
   *
   * @throws TaskError TOPIC_UNKNOWN unless there is this topic, which a timer is about to be made for
   */
  now(transaction: Transaction, topic: string): Outcome<E, number>
  /**
   * Locks a timer that is due until the transaction ends: the one that was due first of those that no other transaction has locked. Waits for none.
   *
   * @param without leaves these alone, by their `timerKey`
   */
  lockDue(transaction: Transaction, without: ReadonlySet<string>): Outcome<E, StoredTimer | NoTimerDue>
  /** Locks a timer until the transaction ends, and waits for others to unlock it. Undefined if there is none. */
  lock(transaction: Transaction, key: TimerKey): Outcome<E, StoredTimer | undefined>
  /** Locks the timers of a scope that have this status, as `lock` does. @returns them in order of their ids */
  lockAll(transaction: Transaction, scope: string, status: TimerStatus): Outcome<E, StoredTimer[]>
  /** Reads a timer without a lock. */
  get(transaction: Transaction, key: TimerKey): Outcome<E, StoredTimer | undefined>
  /** Reads timers without a lock, in order of scope and id. */
  list(transaction: Transaction, filter: TimerFilter): Outcome<E, StoredTimer[]>
  /** Keeps a timer, unless there is one of this key. @returns whether it was added */
  add(transaction: Transaction, timer: NewTimer): Outcome<E, boolean>
  /** Changes a timer that this transaction has locked. */
  change(transaction: Transaction, key: TimerKey, change: TimerChange): Outcome<E, void>
  /** Removes a timer; with a name, only if it has that name. Tasks that were submitted stay. */
  remove(transaction: Transaction, key: TimerKey, name?: string): Outcome<E, void>
  /**
   * The sequence of a task of a timer that has not ended: a task that is ready, active, expired or suspended, whoever has submitted it. A timer's
   * tasks have its reference, and an external id of that reference, an `@` and more. Only the latest thousand by external id are looked at.
   */
  unfinished(transaction: Transaction, topic: string, reference: string): Outcome<E, number | undefined>
  /** Tells notifiers, under `timersName` and at commit, that timers have changed. Does nothing where no notifier can be told. */
  notify(transaction: Transaction): Outcome<E, void>
}

/**
 * A repository that keeps timers beside its tasks, in the same transactions. `sqlTaskRepository` returns one.
 *
 * @example
 * const tasks: TimedTaskRepository<ClientBase> = sqlTaskRepository({ dialect: postgres(), adapter: fromPg })
 * const scheduler = new PeriodicScheduler({ repository: tasks, transactions: pgTransactions(pool) })
 */
export interface TimedTaskRepository<Transaction, E extends Execution = 'async'> extends TaskRepository<Transaction, E> {
  readonly timers: TimerRepository<Transaction, E>
}
