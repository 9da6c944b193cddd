import { checkOptions, checkText } from '@taskstream/task-api'
import type { Execution, Outcome, TimedTaskRepository } from '@taskstream/task-api'
import { periodicLimits } from './definition.ts'
import { add, remove, schedule } from './edit.ts'
import type { Scheduled } from './edit.ts'
import { fireOne } from './fire.ts'
import type { Fired } from './fire.ts'
import { get, list } from './look.ts'
import type { PeriodicFilter } from './look.ts'
import { pause, pauseAll, resume, resumeAll } from './pause.ts'
import type { PeriodicTask, PeriodicTaskInfo, RunNow } from './periodic-task.ts'
import { reconcile } from './reconcile.ts'
import type { Reconciliation, ReconcileOptions } from './reconcile.ts'
import { runNow } from './run-now.ts'
import { bindSteps } from './steps.ts'
import type { Steps, Work } from './steps.ts'

export interface PeriodicTasksOptions {
  /** Whose timers these are, 1 to 200 characters; nothing reaches those of another. Default `system`. */
  readonly scope?: string
}

/** The timers of one scope: made, changed and looked at in the caller's transaction. */
export interface PeriodicTasks<Transaction, E extends Execution = 'async'> {
  readonly scope: string
  /**
   * Keeps a timer: adds it, or makes the one of this id like it. An occurrence that is due stays due, and its policies as they are now decide:
   * with a new `timer` it is submitted by this transaction, and the next occurrence is the first from now on.
   *
   * @throws TaskError ARGUMENT_INVALID, also for a timer that would never fire, and for a new `timer` while more than 10 000 occurrences are due;
   *   TOPIC_UNKNOWN: nothing was written
   * @example
   * await timers.schedule(tx, { id: 'housekeeping', timer: 'Mon..Fri 02:30 Europe/Oslo', topic: 'housekeeping' })
   */
  schedule(transaction: Transaction, task: PeriodicTask): Outcome<E, Scheduled>
  /** As `schedule`, and only if there is none of this id. @throws TaskError TIMER_DUPLICATE, ARGUMENT_INVALID, TOPIC_UNKNOWN */
  add(transaction: Transaction, task: PeriodicTask): Outcome<E, void>
  get(transaction: Transaction, id: string): Outcome<E, PeriodicTaskInfo | undefined>
  /** In order of their ids. */
  list(transaction: Transaction, filter?: PeriodicFilter): Outcome<E, PeriodicTaskInfo[]>
  /** No task is submitted any more, until it is resumed. @returns whether it was running @throws TaskError TIMER_UNKNOWN */
  pause(transaction: Transaction, id: string): Outcome<E, boolean>
  /** It fires again, from now on: what would have fired meanwhile does not. @returns whether it was paused @throws TaskError TIMER_UNKNOWN */
  resume(transaction: Transaction, id: string): Outcome<E, boolean>
  /** @returns how many were running */
  pauseAll(transaction: Transaction): Outcome<E, number>
  /** @returns how many were paused */
  resumeAll(transaction: Transaction): Outcome<E, number>
  /** Tasks that were submitted stay. @throws TaskError TIMER_UNKNOWN */
  remove(transaction: Transaction, id: string): Outcome<E, void>
  /**
   * Submits a task now, and leaves the timer as it is. Where a timer skips while a task of it has not ended, so does this.
   *
   * @throws TaskError TIMER_UNKNOWN, TOPIC_UNKNOWN
   */
  runNow(transaction: Transaction, id: string): Outcome<E, RunNow>
  /**
   * Makes the timers of an application as they are declared, when it is deployed: adds, changes, and tells which were declared before and are
   * not any more. Timers of other applications, and of none, are left alone.
   *
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN: nothing was written
   * @example
   * const { undeclared } = await timers.reconcile(tx, 'billing', [{ id: 'month-close', timer: 'monthly', topic: 'close' }])
   */
  reconcile(
    transaction: Transaction,
    application: string,
    tasks: readonly PeriodicTask[],
    options?: ReconcileOptions,
  ): Outcome<E, Reconciliation>
}

/**
 * Tasks that the clock submits, kept beside the tasks themselves. A `PeriodicScheduler` fires them.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const timers = periodicTasks(tasks)
 * const hers = periodicTasks(tasks, { scope: 'acme/ann' })
 */
export function periodicTasks<Transaction, E extends Execution>(
  repository: TimedTaskRepository<Transaction, E>,
  options: PeriodicTasksOptions = {},
): PeriodicTasks<Transaction, E> {
  checkOptions('periodicTasks', options, { scope: true })
  const { scope = 'system' } = options
  checkText('scope', scope, periodicLimits.nameLength)
  const bind = <Arguments extends readonly unknown[], Result>(
    steps: (work: Work, scope: string, ...args: Arguments) => Steps<Result>,
  ): ((transaction: Transaction, ...args: Arguments) => Outcome<E, Result>) =>
    bindSteps(repository, (work, ...args: Arguments) => steps(work, scope, ...args))
  return {
    scope,
    schedule: bind((work, scope, task: PeriodicTask) => schedule(work, { scope, application: null }, task)),
    add: bind((work, scope, task: PeriodicTask) => add(work, { scope, application: null }, task)),
    get: bind(get),
    list: bind((work, scope, filter?: PeriodicFilter) => list(work, scope, filter)),
    pause: bind(pause),
    resume: bind(resume),
    pauseAll: bind(pauseAll),
    resumeAll: bind(resumeAll),
    remove: bind(remove),
    runNow: bind(runNow),
    reconcile: bind(reconcile),
  }
}

/**
 * Fires the first timer that is due, of whatever scope, in the caller's transaction: for a loop, or a test, of one's own. Again and again until
 * the outcome is `idle`: what is done is done for one timer at a time.
 *
 * @example
 * const fire = firing(tasks)
 * while ((await transactions((tx) => fire(tx))).outcome !== 'idle');
 */
export function firing<Transaction, E extends Execution>(
  repository: TimedTaskRepository<Transaction, E>,
): (transaction: Transaction) => Outcome<E, Fired> {
  return bindSteps(repository, fireOne)
}

/** The timers of every scope, in order of scope and id: for those who look after them all. */
export function allPeriodicTasks<Transaction, E extends Execution>(
  repository: TimedTaskRepository<Transaction, E>,
): (transaction: Transaction, filter?: PeriodicFilter) => Outcome<E, PeriodicTaskInfo[]> {
  return bindSteps(repository, (work, filter?: PeriodicFilter) => list(work, undefined, filter))
}
