import { TaskError } from '@taskstream/task-api'

/** An index is named by the statements that need it, and somebody has dropped it. No migration would make it again. */
export function indexMissing(cause: Error): TaskError {
  const message = `An index of taskstream is missing, so somebody has dropped it (${cause.message}): make it again. On an empty database, taskstream migrate plan prints the statement`
  return new TaskError('SCHEMA_MISSING', message, {}, { cause })
}
