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
  /** The scope of the timers: 1 to 200 characters. Timers of other scopes are not reached. Default `system`. */
  readonly scope?: string
}

/** Adds, changes and finds the timers of one scope, in the caller's transaction. */
export interface PeriodicTasks<Transaction, E extends Execution = 'async'> {
  readonly scope: string
  /**
   * Adds a timer, or changes the timer of the same id. An occurrence that is due stays due, under the timer's new policies. If `timer` changes, this
   * transaction submits the due occurrences, and the next occurrence is the first from now on.
   *
   * @throws TaskError ARGUMENT_INVALID, also for a timer that would never fire, and for a new `timer` while more than 10 000 occurrences are due;
   *   TIMER_INVALID if the timer's text cannot be read; TOPIC_UNKNOWN if there is no such topic. Nothing was written then
   * @example
   * await timers.schedule(tx, { id: 'housekeeping', timer: 'Mon..Fri 02:30 Europe/Oslo', topic: 'housekeeping' })
   */
  schedule(transaction: Transaction, task: PeriodicTask): Outcome<E, Scheduled>
  /** Adds a timer. @throws TaskError TIMER_DUPLICATE if there is a timer of this id; ARGUMENT_INVALID, TIMER_INVALID, TOPIC_UNKNOWN */
  add(transaction: Transaction, task: PeriodicTask): Outcome<E, void>
  get(transaction: Transaction, id: string): Outcome<E, PeriodicTaskInfo | undefined>
  /** Lists timers in order of their ids. */
  list(transaction: Transaction, filter?: PeriodicFilter): Outcome<E, PeriodicTaskInfo[]>
  /** Pauses a timer: no task is submitted until it is resumed. @returns whether the timer was running @throws TaskError TIMER_UNKNOWN */
  pause(transaction: Transaction, id: string): Outcome<E, boolean>
  /** Resumes a timer from now on, without the occurrences of the pause. @returns whether it was paused @throws TaskError TIMER_UNKNOWN */
  resume(transaction: Transaction, id: string): Outcome<E, boolean>
  /** Pauses all running timers of the scope. @returns how many were running */
  pauseAll(transaction: Transaction): Outcome<E, number>
  /** Resumes all paused timers of the scope. @returns how many were paused */
  resumeAll(transaction: Transaction): Outcome<E, number>
  /** Removes a timer. Tasks that were submitted stay. @throws TaskError TIMER_UNKNOWN */
  remove(transaction: Transaction, id: string): Outcome<E, void>
  /**
   * Submits a task now, and leaves the timer's next occurrence as it is. A timer with `whileUnfinished: 'skip'` submits none while its last task has not
   * ended.
   *
   * @throws TaskError TIMER_UNKNOWN, TOPIC_UNKNOWN
   */
  runNow(transaction: Transaction, id: string): Outcome<E, RunNow>
  /**
   * Makes an application's timers as it declares them when it is deployed: adds and changes timers, and reports those that are no longer declared.
   * Timers of other applications, or without an application, are left alone.
   *
   * @throws TaskError ARGUMENT_INVALID, TIMER_INVALID, TOPIC_UNKNOWN. Nothing was written then
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
 * Makes the access to the timers of one scope, which are stored in the same database as the tasks. A `PeriodicScheduler` fires them.
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
 * Makes a function that fires the first due timer of all scopes in the caller's transaction, for a loop or a test of your own. A call fires one
 * occurrence, so call it until the outcome is `idle`.
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

/** Makes a function that lists the timers of every scope, in order of scope and id. */
export function allPeriodicTasks<Transaction, E extends Execution>(
  repository: TimedTaskRepository<Transaction, E>,
): (transaction: Transaction, filter?: PeriodicFilter) => Outcome<E, PeriodicTaskInfo[]> {
  return bindSteps(repository, (work, filter?: PeriodicFilter) => list(work, undefined, filter))
}
