import './check-node.ts'
export { abortedBy, abortOf, LazyAbortController } from './abort.ts'
export type { Abort } from './abort.ts'
export type { CoordinationRepository, CoordinationTables, FollowedLeader, GroupLeader, GroupMember } from './coordination.ts'
export type { Execution, Outcome, TransactionOptions, TransactionSource } from './execution.ts'
export { isSameTask, taskToString } from './task.ts'
export type { HeldTask, JsonValue, PushedTask, Task, TaskCreation, TaskHeaders, TaskInfo, TaskKey, TaskLease } from './task.ts'
export { attemptOutcomes } from './task-attempts.ts'
export { submitChannel, taskChannel, taskChannels } from './task-channels.ts'
export type {
  ContextualCall,
  HandlerCall,
  RepositoryCall,
  ServerAddress,
  StepCall,
  SubmitCall,
  TaskCall,
} from './task-channels.ts'
export type { AttemptOutcome, PurgeAttemptsOptions, TaskAttempt, TaskAttempts } from './task-attempts.ts'
export { carriedDecision, TaskDecision, TaskDecisionError, toDecision } from './task-decision.ts'
export type { DecisionOutcome, TaskExplanation } from './task-decision.ts'
export { causesOf, headlineOf, thrownText } from './explanation.ts'
export { duplicates } from './task-duplication.ts'
export type { DuplicateSelector, DuplicationFilter, DuplicationOptions } from './task-duplication.ts'
export { TaskError, isPassing, isTaskError, taskErrorCodes } from './task-error.ts'
export type { Shortage, TaskErrorCode } from './task-error.ts'
export {
  checkDuration,
  checkInstant,
  checkInteger,
  checkStorable,
  checkText,
  checkTopic,
  cutText,
  invalid,
  taskLimits,
} from './task-limits.ts'
export { checkMap, isTask, listOf } from './collections.ts'
export { checkInput, jsonOf, readInput } from './input-schema.ts'
export type { InputSchema } from './input-schema.ts'
export { nearest } from './nearest.ts'
export { checkGiven, checkNames, checkOptions, optionNames } from './option-names.ts'
export type { OptionNames } from './option-names.ts'
export { partialBatch } from './task-partial-batch.ts'
export type { PartialBatchOptions, PartialDecisions } from './task-partial-batch.ts'
export { isCompleted, mergeResults, stateNumber, stateOf, taskReasons, taskResults, taskStates } from './task-state.ts'
export type { TaskReason, TaskResult, TaskState } from './task-state.ts'
export { checkFilter, checkState, filterStates } from './task-filter.ts'
export type { FilterState, TaskFilter } from './task-filter.ts'
export { checkShares, defaultShares } from './poll-shares.ts'
export type { PollShares } from './poll-shares.ts'
export { pollConditions, pollOrders, taskRecords } from './task-polling.ts'
export type { PollCondition, PollOrder, TaskRecord, TopicOptions } from './task-polling.ts'
export type { Insertion, PushOptions, TaskSink } from './task-sink.ts'
export type {
  ReassignAllOptions,
  RecreatedTask,
  RecreateSelection,
  Redrive,
  RedriveOptions,
  RevivableState,
  Revivification,
  TaskReviver,
} from './task-reviver.ts'
export type { Cancellation, TaskCanceller } from './task-canceller.ts'
export type { Rescheduling, TaskRescheduler } from './task-rescheduler.ts'
export type { TaskEnding, TaskEndings } from './task-endings.ts'
export type { Settlement, SettleOptions, TaskDependencies, TaskDependency } from './task-dependencies.ts'
export { checkSelector } from './task-selector.ts'
export type { TaskSelector } from './task-selector.ts'
export type { Junction, TaskJuncture } from './task-juncture.ts'
export { supplementToken, TaskSupplement } from './task-supplement.ts'
export type { SupplementToken } from './task-supplement.ts'
export { pollHolds } from './task-source.ts'
export type {
  CompleteOptions,
  Completion,
  DiscardedState,
  Holding,
  PollHold,
  PollOptions,
  PeekedTopic,
  PromotedDue,
  PromoteDueOptions,
  TaskSource,
} from './task-source.ts'
export type {
  CountOptions,
  OverviewOptions,
  PageOptions,
  PurgeOptions,
  Repair,
  ResolveOptions,
  ResultsOptions,
  TaskCatalog,
  TaskCount,
  TopicOverview,
} from './task-catalog.ts'
export type { Action, ActionsOptions, PurgeActionsOptions, RecordedAction, TaskAudit } from './task-audit.ts'
export type { FormerTask, LockedTask, LockedTasks, LockOptions, TaskLocker } from './task-locker.ts'
export type { LeftTasks, Restoration, RestoreOptions, TaskRestorer } from './task-restorer.ts'
export { diagnosisCodes } from './task-diagnosis.ts'
export type { Blocker, Diagnosis, DiagnosisCode, Remedy, TaskDiagnosis, TaskReference } from './task-diagnosis.ts'
export type {
  ErrorGroup,
  ErrorsOptions,
  HeldInfo,
  HeldOptions,
  TaskInspection,
  Upcoming,
  UpcomingOptions,
} from './task-inspection.ts'
export { nodeKinds } from './task-nodes.ts'
export type {
  DeclaredTimers,
  NodeInfo,
  NodeKind,
  NodeLife,
  NodeReport,
  ReportAnswer,
  NodesOptions,
  NodeTopic,
  NodeTrouble,
  StuckTask,
  TaskNodes,
} from './task-nodes.ts'
export type { ExpireOptions, Expiry, RegisterOptions, TaskOwner, TaskOwners } from './task-owners.ts'
export type { Activation, ActivationOptions, TaskActivations } from './task-activation.ts'
export { HeardCalls } from './heard-calls.ts'
export { checkRescheduling } from './task-rescheduler.ts'
export { checkLimits } from './topic-limits.ts'
export type { LimitOptions, SlotGrant, SlotWish, TokenGrant, TopicLimiter, TopicLimits } from './topic-limits.ts'
export type { PollFindings, TaskRepository } from './task-repository.ts'
export { creationNames, verbOptions } from './verb-options.ts'
export { misfires, overlaps, timerKey, timerStatuses } from './timer.ts'
export type {
  Misfire,
  NewTimer,
  StoredTimer,
  TimerChange,
  TimerDefinition,
  TimerHistory,
  TimerKey,
  TimerStatus,
  TimerWait,
  WhileUnfinished,
} from './timer.ts'
export { timersName } from './timer-repository.ts'
export type { NoTimerDue, TimedTaskRepository, TimerFilter, TimerRepository } from './timer-repository.ts'
export type { NotifierCallbacks, TaskNotifier } from './task-notifier.ts'
