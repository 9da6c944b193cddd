import { TaskError } from '@taskstream/task-api'

/** A task, or a note, was given a number that another has already. */
export function sequenceBehind(cause?: Error): TaskError {
  return new TaskError(
    'SEQUENCE_BEHIND',
    'New tasks are numbered as tasks that are there already, as after a restore: run `taskstream repair`, or tasks.repair(transaction)',
    {},
    cause && { cause },
  )
}
