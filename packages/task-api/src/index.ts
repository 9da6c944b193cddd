export type { Execution, Outcome, TransactionSource } from './execution.ts'
export { isSameTask, taskToString } from './task.ts'
export type { HeldTask, JsonValue, PushedTask, Task, TaskCreation, TaskHeaders, TaskInfo, TaskLease } from './task.ts'
export { TaskDecision, TaskDecisionError, toDecision } from './task-decision.ts'
export type { TaskExplanation } from './task-decision.ts'
export { duplicates } from './task-duplication.ts'
export type { DuplicateSelector, DuplicationFilter, DuplicationOptions } from './task-duplication.ts'
export { TaskError, isTaskError, taskErrorCodes } from './task-error.ts'
export type { TaskErrorCode } from './task-error.ts'
export {
  checkDuration,
  checkInstant,
  checkInteger,
  checkStorable,
  checkText,
  checkTopic,
  invalid,
  taskLimits,
} from './task-limits.ts'
export { partialBatch } from './task-partial-batch.ts'
export type { PartialBatchOptions, PartialDecisions } from './task-partial-batch.ts'
export { isCompleted, mergeResults, stateNumber, stateOf, taskReasons, taskResults, taskStates } from './task-state.ts'
export type { TaskReason, TaskResult, TaskState } from './task-state.ts'
export { supplementToken, TaskSupplement } from './task-supplement.ts'
export type { SupplementToken } from './task-supplement.ts'
export type { TaskSink } from './task-sink.ts'
export type { CompleteOptions, Completion, Holding, PollOptions, Release, ReleaseOptions, TaskSource } from './task-source.ts'
export type { CountOptions, PageOptions, TaskCatalog, TaskCount } from './task-catalog.ts'
export type { ExpireOptions, Expiry, RegisterOptions, TaskOwner, TaskOwners } from './task-owners.ts'
export type { TaskRepository } from './task-repository.ts'
export type { TaskNotifier } from './task-notifier.ts'
