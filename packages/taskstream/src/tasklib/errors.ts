/** The errors of TaskLib, by their names. Each is a `TaskError` with a code of taskstream. */
import { isTaskError, TaskError } from '@taskstream/task-api'

/** Whatever `taskLib` throws by itself. */
export class TaskLibError extends TaskError {
  // The name is written out, as a minifier may rename the class.
  override name = 'TaskLibError'
}

/** The function is not registered: `data.job`; `data.routes` are the names that are. */
export class TaskNotFound extends TaskLibError {
  override name = 'TaskNotFound'
}

/** There is a task of this name already: `data.job`. */
export class TaskAlreadyRegistered extends TaskLibError {
  override name = 'TaskAlreadyRegistered'
}

/** What the function is given does not match its schema: `data.issues`. Nothing was written. */
export class TaskExecutionError extends TaskLibError {
  override name = 'TaskExecutionError'
}

/** The reason of a task's signal: its `timeoutSeconds` are over. */
export class TaskTimeoutError extends TaskLibError {
  override name = 'TaskTimeoutError'
}

/** The reason of a task's signal: it was cancelled, or others may have taken it, because the process was silent for too long. */
export class TaskLockError extends TaskLibError {
  override name = 'TaskLockError'
}

/** The reason of an aborted signal, by the name that TaskLib has for it. Others, such as a stop, stay as they are. */
export function reasonOf(reason: unknown): unknown {
  if (isTaskError(reason, 'TASK_TIMEOUT')) return told(TaskTimeoutError, reason, reason.message)
  if (isTaskError(reason, 'TASK_LOST') || isTaskError(reason, 'LEASE_LOST')) return told(TaskLockError, reason, reason.message)
  return reason
}

/** Calls a submission. That its input is refused is said as TaskLib says it. */
export async function submitted<Result>(submit: () => Promise<Result>): Promise<Result> {
  try {
    return await submit()
  } catch (error) {
    throw isTaskError(error, 'INPUT_INVALID') ? told(TaskExecutionError, error, error.message) : error
  }
}

function told(Named: typeof TaskLibError, error: TaskError, message: string): TaskLibError {
  return new Named(error.code, message, error.data, { cause: error })
}
