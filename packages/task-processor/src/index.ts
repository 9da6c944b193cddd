export { pushing } from './handlers/pushing.ts'
export type { Pushing, PushingOptions } from './handlers/pushing.ts'
export type { Creations, JoinOptions, Postprocess, Pushes } from './handlers/pushes.ts'
export { tagging } from './handlers/tagging.ts'
export type { ContextBatch, TaskCommit, TaskContext, TaskContextFactory } from './handlers/task-context.ts'
export { composite } from './pipelines/composite.ts'
export type { Composite, CompositeOptions } from './pipelines/composite.ts'
export type { PendingOnClose } from './pipelines/pending-batch.ts'
export type {
  BatchOptions,
  BatchStep,
  EachOptions,
  EachStep,
  Step,
  StepContext,
  StepRun,
  ValueOptions,
  ValueStep,
} from './pipelines/step.ts'
export { handleBatch } from './batches/handle-batch.ts'
export type { BatchOutcome, HandleBatchOptions } from './batches/handle-batch.ts'
export { systemClock } from './core/clock.ts'
export type { Clock } from './core/clock.ts'
export { buffering } from './pipelines/buffering.ts'
export type { BufferingOptions, BufferState } from './pipelines/buffering.ts'
export { bound, prioritizing, unlimited } from './polling/limiter.ts'
export type { TaskLimiter } from './polling/limiter.ts'
export { Condition, safeListener } from './core/listener.ts'
export type { Activity, BatchEvent, SafeListener, TaskListener } from './core/listener.ts'
export { outcomeOf } from './core/outcomes.ts'
export type { Outcomes } from './core/outcomes.ts'
export { limitTransactions } from './core/limit-transactions.ts'
export type { LimitedTransactions, LimitTransactionsOptions } from './core/limit-transactions.ts'
export { localNotifier } from './core/local-notifier.ts'
export type { LocalNotifier } from './core/local-notifier.ts'
export { byError, exponential, fixed, linear, never, steps } from './core/retry-policy.ts'
export type {
  ErrorRule,
  ExponentialOptions,
  FixedOptions,
  Jitter,
  LinearOptions,
  RetryPolicy,
  StepsOptions,
  Tried,
} from './core/retry-policy.ts'
export { stopOnSignal } from './worker/stop-on-signal.ts'
export type { StopOnSignalOptions } from './worker/stop-on-signal.ts'
export { Submitter } from './submit/submit.ts'
export type { SubmitterOptions } from './submit/submit.ts'
export type { StreamBatch, StreamOptions } from './worker/stream.ts'
export { eachTask } from './handlers/each-task.ts'
export type { EachTaskOptions, SingleHandler } from './handlers/each-task.ts'
export { openHandler } from './core/task-handler.ts'
export type {
  BatchHandler,
  Decisions,
  HandlerContext,
  HandlerSlots,
  OpenHandler,
  TaskHandler,
  TaskHandlerFactory,
} from './core/task-handler.ts'
export type { ProcessOptions, RetainedState } from './worker/process-options.ts'
export type { StartReport } from './worker/start-report.ts'
export { checkStopOptions } from './worker/stop-report.ts'
export type { StopOptions, StopReport } from './worker/stop-report.ts'
export type { TaskManager } from './worker/task-manager.ts'
export { TaskNode } from './worker/task-node.ts'
export type { TaskNodeOptions } from './worker/node-options.ts'
export { keepsReports, Reporting } from './liveness/reporting.ts'
export type { ReportingOptions, Told } from './liveness/reporting.ts'
export { toTrouble } from './liveness/trouble.ts'
export type { HeartbeatThread, OpenThreadBeat, ThreadBeat } from './liveness/thread-heartbeat.ts'
export { Wake } from './polling/wake.ts'
