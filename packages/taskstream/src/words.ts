import { isTaskError, TaskError } from '@taskstream/task-api'
import type { TaskErrorCode } from '@taskstream/task-api'

/** What users of jobs can do about errors of the tasks below. Those errors name functions that such users do not have. */
const advice: Partial<Record<TaskErrorCode, (job: string) => string>> = {
  SCHEMA_MISSING: (job) =>
    `The tables of taskstream are not in this database: call stream.start() or stream.prepare(…) before the first job "${job}" is pushed, or run taskstream migrate`,
  TOPIC_UNKNOWN: (job) =>
    `The job "${job}" is not known in this database: call await stream.prepare(…) with it once, or handle it and start`,
  TOPIC_NOT_KEYED: (job) =>
    `The job "${job}" is known in this database without a key: give its definition a key before its first push, or define it by another name`,
  TOPIC_DIFFERENT: (job) =>
    `The job "${job}" is known in this database by another definition, whose order, ordered or key differs: define it as it was, or by another name`,
}

/** Says an error in the words of jobs, with the original as its cause. Other errors stay as they are. */
export function inWords(job: string, error: unknown): unknown {
  const text = isTaskError(error) ? advice[error.code]?.(job) : undefined
  return text === undefined ? error : new TaskError((error as TaskError).code, text, (error as TaskError).data, { cause: error })
}
