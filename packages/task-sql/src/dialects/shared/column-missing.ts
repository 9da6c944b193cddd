import { TaskError } from '@taskstream/task-api'

/** The error for a statement of ours that names a column, or a parameter of a function, which the tables do not have. */
export function columnMissing(cause: Error): TaskError {
  return new TaskError(
    'SCHEMA_OLDER',
    `The tables of taskstream are not those that this release needs, most likely older ones: run migrate (${cause.message})`,
    {},
    { cause },
  )
}
