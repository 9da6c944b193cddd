/** Errors of the façade: the texts of asyncjobs, and what they are about. */
import { TaskDecision, TaskDecisionError, TaskError } from '@taskstream/task-api'
import type { TaskErrorCode } from '@taskstream/task-api'

/** The texts of asyncjobs, by which its users know its errors. */
export const texts = {
  commandFailed: 'execution failed',
  commandMissing: 'command not found',
  deadlineShort: 'deadline too short',
  idInvalid: 'task ID is invalid',
  handlerDuplicate: 'duplicate handler for task type',
  handlerMissing: 'no handler for task type',
  itemDuplicate: 'duplicate work queue item',
  middlewareInvalid: 'invalid middleware',
  policyUnknown: 'unknown retry policy',
  queueInvalid: 'queue name is invalid',
  queueMissing: 'queue not found',
  queueRequired: 'queue name is required',
  scheduleDuplicate: 'scheduled task already exist',
  scheduledInvalid: 'invalid scheduled task',
  scheduledMissing: 'scheduled task not found',
  scheduleInvalid: 'invalid cron schedule',
  scheduleNameInvalid: 'name is invalid',
  scheduleNameRequired: 'name is required',
  scheduleRequired: 'schedule is required',
  stateInvalid: 'cannot enqueue a task in state',
  taskMissing: 'task not found',
  tasksNone: 'no tasks found',
  typeInvalid: 'task type is invalid',
} as const

/** @param what the task, queue or type that the error is about, or what to do */
export function failure(
  code: TaskErrorCode,
  text: keyof typeof texts,
  what?: string,
  data: Readonly<Record<string, unknown>> = {},
  cause?: unknown,
): TaskError {
  const message = what === undefined ? texts[text] : `${texts[text]}: ${what}`
  return new TaskError(code, message, data, cause === undefined ? {} : { cause })
}

/**
 * Thrown by a handler whose task must not be tried again, by itself or as the cause of another error. The task is then terminated.
 *
 * @example
 * throw new Error('the customer is gone', { cause: new TerminateTaskError() })
 */
export class TerminateTaskError extends Error {
  constructor(message: string = 'terminate task', options?: ErrorOptions) {
    super(message, options)
    this.name = 'TerminateTaskError'
  }
}

/** The error as the processor knows it: one that has TerminateTaskError among its causes ends the task for good. */
export function decided(error: unknown): unknown {
  const seen = new Set<unknown>()
  for (let one = error; one instanceof Error && !seen.has(one); one = one.cause) {
    if (one instanceof TerminateTaskError) return new TaskDecisionError(TaskDecision.failure(error).because('terminated'))
    seen.add(one)
  }
  return error
}
