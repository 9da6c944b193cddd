export { pushing } from './contexts/pushing.ts'
export type { Pushing, PushingOptions } from './contexts/pushing.ts'
export type { Creations, JoinOptions, Postprocess, Pushes } from './contexts/pushes.ts'
export { tagging } from './contexts/tagging.ts'
export type { ContextBatch, TaskCommit, TaskContext, TaskContextFactory } from './contexts/task-context.ts'
export { composite } from './steps/composite.ts'
export type { Composite, CompositeOptions } from './steps/composite.ts'
export type { PendingOnClose } from './steps/pending-batch.ts'
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
} from './steps/step.ts'
export { handleBatch } from './handle-batch.ts'
export type { BatchOutcome, HandleBatchOptions } from './handle-batch.ts'
export { systemClock } from './clock.ts'
export type { Clock } from './clock.ts'
export { buffering } from './buffering.ts'
export type { BufferingOptions, BufferState } from './buffering.ts'
export { bound, prioritizing, unlimited } from './limiter.ts'
export type { TaskLimiter } from './limiter.ts'
export type { Activity, BatchEvent, TaskListener } from './listener.ts'
export { limitTransactions } from './limit-transactions.ts'
export type { LimitedTransactions, LimitTransactionsOptions } from './limit-transactions.ts'
export { localNotifier } from './local-notifier.ts'
export type { LocalNotifier } from './local-notifier.ts'
export { byError, exponential, fixed, linear, never } from './retry-policy.ts'
export type { ErrorRule, ExponentialOptions, FixedOptions, LinearOptions, RetryPolicy, Tried } from './retry-policy.ts'
export { stopOnSignal } from './stop-on-signal.ts'
export type { StopOnSignalOptions } from './stop-on-signal.ts'
export { Submitter } from './submit.ts'
export type { SubmitterOptions } from './submit.ts'
export type { StreamBatch, StreamOptions } from './stream.ts'
export { eachTask } from './each-task.ts'
export type { EachTaskOptions, SingleHandler } from './each-task.ts'
export { openHandler } from './task-handler.ts'
export type { BatchHandler, Decisions, HandlerContext, OpenHandler, TaskHandler, TaskHandlerFactory } from './task-handler.ts'
export type { ProcessOptions, RetainedState } from './process-options.ts'
export type { StopOptions, StopReport } from './stop-report.ts'
export type { TaskManager } from './task-manager.ts'
export { TaskNode } from './task-node.ts'
export type { TaskNodeOptions } from './node-options.ts'
export type { HeartbeatThread, OpenThreadBeat, ThreadBeat } from './thread-heartbeat.ts'
export { Wake } from './wake.ts'
