export {
  defineJob,
  defineQueue,
  defineTopic,
  externalProcess,
  httpRequest,
  json,
  many,
  settled,
  versioned,
} from '@taskstream/task-jobs'
export type {
  AnyHeldJob,
  AnyJob,
  AnyTopic,
  EndOf,
  ExternalHandler,
  ExternalJob,
  ExternalProcessOptions,
  HeldJob,
  HttpRequestOptions,
  Job,
  JobCommit,
  JobContinuation,
  JobDetails,
  JobHandler,
  JobInfo,
  JobMiddleware,
  JobOf,
  JobOptions,
  JobPushOptions,
  JobRef,
  JobReturn,
  JobSelector,
  JobState,
  JobTags,
  ManyNeed,
  MiddlewareOutcome,
  NeededRefs,
  NeededResults,
  NeedMap,
  PushArguments,
  JobLimits,
  Queue,
  QueueOptions,
  RouteHandler,
  Settled,
  SettledNeed,
  Signed,
  SigningKey,
  SigningOptions,
  Topic,
  TopicCompletion,
  TopicContext,
  TopicDecisions,
  TopicHandler,
  TopicOutcome,
  TopicTask,
  TopicWork,
  TypedTopicOptions,
  VerificationKey,
  VerificationOptions,
  VersionedSchema,
} from '@taskstream/task-jobs'
export { isTaskError, TaskDecision, TaskError } from '@taskstream/task-api'
export type { AttemptOutcome, InputSchema, TaskAttempt, TaskErrorCode } from '@taskstream/task-api'
export { byError, exponential, fixed, linear, never, steps } from '@taskstream/task-processor'
export type { RetryPolicy, TaskListener } from '@taskstream/task-processor'
export { calendar, cron, every } from '@taskstream/task-timers'
export type { Timer } from '@taskstream/task-timers'
export type { CheckedDefinition, CheckOptions, Misfit } from './check-waiting.ts'
export { consoleListener } from './console-listener.ts'
export type { FindOptions, FoundJobs } from './find-tasks.ts'
export type { JobEvents } from './job-watcher.ts'
export { Stream } from './stream.ts'
export type { HandleOptions, PushManyOptions, StartOptions, StreamDriver, StreamOptions, WaitOptions } from './stream-options.ts'
export type { JobEvent, WatchOptions } from './watch-options.ts'
export type { TopicProcessOptions, TopicPushOptions, TopicSelector, TypedTopic } from './typed-topic.ts'
