import { TaskError } from '@taskstream/task-api'

/** The error for a task or a recheck whose number another row has already. */
export function sequenceBehind(cause?: Error): TaskError {
  return new TaskError(
    'SEQUENCE_BEHIND',
    'New tasks are numbered as tasks that are there already, as after a restore: run `taskstream repair`, or tasks.repair(transaction)',
    {},
    cause && { cause },
  )
}
