export { defineJob, json } from '@taskstream/task-jobs'
export type {
  AnyJob,
  HeldJob,
  Job,
  JobCommit,
  JobContinuation,
  JobHandler,
  JobInfo,
  JobOptions,
  JobPushOptions,
  JobRef,
  JobSelector,
  JobState,
  JobTags,
  PushArguments,
} from '@taskstream/task-jobs'
export { isTaskError, TaskDecision, TaskError } from '@taskstream/task-api'
export type { InputSchema, TaskErrorCode } from '@taskstream/task-api'
export { byError, exponential, fixed, linear, never } from '@taskstream/task-processor'
export type { RetryPolicy, TaskListener } from '@taskstream/task-processor'
export { calendar, cron, every } from '@taskstream/task-timers'
export type { Timer } from '@taskstream/task-timers'
export { consoleListener } from './console-listener.ts'
export { Stream } from './stream.ts'
export type { HandleOptions, PushManyOptions, StartOptions, StreamDriver, StreamOptions } from './stream-options.ts'
