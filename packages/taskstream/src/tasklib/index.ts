/** Entry `taskstream/tasklib`: functions as tasks, in the words of TaskLib. */
import type { Execution } from '@taskstream/task-api'
import type { Stream } from '../stream.ts'
import type { TaskLibOptions } from './registered-task.ts'
import { TaskLib } from './task-lib.ts'

export {
  TaskAlreadyRegistered,
  TaskExecutionError,
  TaskLibError,
  TaskLockError,
  TaskNotFound,
  TaskTimeoutError,
} from './errors.ts'
export type {
  CheckedTaskOptions,
  RegisteredTask,
  SubmitOptions,
  Taking,
  TaskContext,
  TaskFunction,
  TaskJob,
  TaskLibOptions,
  TaskOptions,
} from './registered-task.ts'
export { TaskLib } from './task-lib.ts'
export type { ListTasksOptions } from './task-lib.ts'
export type { TaskLibState, TaskLibTask } from './task-row.ts'
export { TaskWorker } from './task-worker.ts'
export type { RunOptions, ShutdownOptions, TaskWorkerOptions } from './task-worker.ts'

/**
 * Functions as tasks, over one queue of a stream.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const lib = taskLib(taskstream(new pg.Pool()), { maxRetries: 5 })
 * await lib.init()
 */
export function taskLib<Transaction, E extends Execution = 'async'>(
  stream: Stream<Transaction, E>,
  options: TaskLibOptions = {},
): TaskLib<Transaction, E> {
  return new TaskLib(stream, options)
}
