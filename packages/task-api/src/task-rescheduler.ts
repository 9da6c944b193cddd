import type { Execution, Outcome } from './execution.ts'
import { checkNames } from './option-names.ts'
import { checkDuration, checkInstant, checkInteger, invalid, taskLimits } from './task-limits.ts'
import type { TaskSelector } from './task-selector.ts'
import type { Task } from './task.ts'
import { verbOptions } from './verb-options.ts'

/** When and how urgently tasks are to be done. What is not given stays as it is; at least one value is given. */
export interface Rescheduling {
  /** No poll takes the tasks before this instant. An instant that has passed makes them ready at once. Not together with `delayMs`. */
  readonly due?: Date
  /** For how many milliseconds from now no poll takes the tasks, by the database's clock; 0 to 100 years. Not together with `due`. */
  readonly delayMs?: number
  /** From this instant on a poll filters the tasks. Null: they have no deadline any more. Not together with `deadlineMs`. */
  readonly deadline?: Date | null
  /** The deadline in milliseconds from now, by the database's clock; 0 to 100 years. Not together with `deadline`. */
  readonly deadlineMs?: number
  /** From -32 767 to 32 767. In topics of the order `priority` a higher priority comes sooner. */
  readonly priority?: number
}

/** @throws TaskError ARGUMENT_INVALID unless it says what is to change, and says it once */
export function checkRescheduling(to: Rescheduling): void {
  if (typeof to !== 'object' || to === null) throw invalid('to', to, 'must be an object')
  checkNames(verbOptions.reschedule, to)
  const { due, delayMs, deadline, deadlineMs, priority } = to
  if (due !== undefined && delayMs !== undefined) throw invalid('delayMs', delayMs, 'cannot be given together with due')
  if (deadline !== undefined && deadlineMs !== undefined)
    throw invalid('deadlineMs', deadlineMs, 'cannot be given together with deadline')
  if (due !== undefined) checkInstant('due', due)
  if (delayMs !== undefined) checkDuration('delayMs', delayMs)
  if (deadline !== undefined && deadline !== null) checkInstant('deadline', deadline)
  if (deadlineMs !== undefined) checkDuration('deadlineMs', deadlineMs)
  if (priority !== undefined) checkInteger('priority', priority, -taskLimits.priority, taskLimits.priority)
  if ([due, delayMs, deadline, deadlineMs, priority].every((value) => value === undefined))
    throw invalid('to', to, 'must say what is to change: due, delayMs, deadline, deadlineMs or priority')
}

/** Moves tasks in time, and in the order of priorities. */
export interface TaskRescheduler<Transaction, E extends Execution = 'async'> {
  /**
   * Changes the due time, deadline or priority of tasks that are ready, or wait for their due time or a retry. Tasks that are at work, are set aside
   * or have ended stay as they are, and tasks that do not exist are passed over. Sequence, identifier and input never change: for another input,
   * push another task with `insertion: 'supersede'`.
   *
   * If another transaction is working on one of the tasks, the verb waits for it. Under a singular condition a task that is put off still blocks
   * later tasks of its identifier, as a delayed task does.
   *
   * @returns the tasks that were changed, by sequence
   * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN; TOPIC_NOT_KEYED for an identifier in a topic that is not keyed
   * @example
   * await tasks.reschedule(tx, 'reminders', { externalId: 'order 7' }, { due: new Date('2027-01-01T08:00:00Z') })
   * await tasks.reschedule(tx, 'invoices', 4711, { delayMs: 0, priority: 100 })   // now, and before the others
   */
  reschedule(transaction: Transaction, topic: string, selector: TaskSelector, to: Rescheduling): Outcome<E, readonly Task[]>
}
