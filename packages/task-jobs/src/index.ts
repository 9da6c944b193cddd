export { defineJob } from './define-job.ts'
export type { AnyJob, EndOf, Job, JobOf, JobOptions, JobSettings } from './define-job.ts'
export { defineQueue, topicOf } from './define-queue.ts'
export type { Queue, QueueOptions, QueueSettings } from './define-queue.ts'
export { isLimited } from './job-limits.ts'
export type { CheckedLimits, DefinedLimits, JobLimits } from './job-limits.ts'
export type { ExternalHandler, ExternalJob } from './external-job.ts'
export { externalProcess } from './external-process.ts'
export type { ExternalProcessOptions } from './external-process.ts'
export { checkProcessGroups, programOf } from './program.ts'
export { runProgram } from './run-program.ts'
export type { RunLimits } from './run-program.ts'
export { httpRequest } from './http-request.ts'
export type { HttpRequestOptions } from './http-request.ts'
export { jobHandler, routedHandler } from './handle-job.ts'
export type { JobEnvironment, JobHandling } from './handle-job.ts'
export type { HeldJob, JobCommit, JobContinuation, JobHandler, JobOutcome } from './held-job.ts'
export {
  cancelledChange,
  completedChange,
  foundChange,
  lostChange,
  mergedChange,
  pushedChange,
  retriedChange,
  returnedChange,
  takenChange,
  unreadChange,
} from './job-change.ts'
export type { JobChange } from './job-change.ts'
export { infoOf, parsed } from './job-info.ts'
export type { JobDetails, JobInfo, JobState } from './job-info.ts'
export { isOf, jobNameOf } from './job-name.ts'
export { JobRoutes } from './job-routes.ts'
export type { JobRoute, RouteHandler } from './job-routes.ts'
export { taskSelectorOf } from './job-selector.ts'
export type { JobSelector } from './job-selector.ts'
export { JobSignatures } from './job-signatures.ts'
export type { SigningOptions, VerificationOptions } from './job-signatures.ts'
export { json } from './json.ts'
export type { JsonOnly } from './json-only.ts'
export { creationOf, idOf, refOf, tagsOf } from './push-job.ts'
export type { AnyPushOptions, JobPushOptions, JobRef, PushArguments } from './push-job.ts'
export { many, dependenciesOf, settled } from './needs.ts'
export type { ManyNeed, Need, NeededRefs, NeededResults, NeedMap, Settled, SettledNeed } from './needs.ts'
export type { NeededEnding } from './needed-results.ts'
export { checkMiddleware } from './middleware.ts'
export type { AnyHeldJob, JobMiddleware, JobReturn, MiddlewareOutcome } from './middleware.ts'
export { InProcess } from './in-process.ts'
export type { Done } from './in-process.ts'
export { checkSecretNames } from './secret-options.ts'
export type { SigningKey, VerificationKey } from './signature-keys.ts'
export { withoutSuffix } from './sub-keys.ts'
export type { SubKeys } from './sub-keys.ts'
export { tagFilter } from './tag-filter.ts'
export { inputOf, pushedVersionOf } from './task-input.ts'
export type { StoredInput } from './task-input.ts'
export type { JobTags, Signed, TaskDefinition, TaskSettings } from './task-settings.ts'
export { timeoutOf } from './task-timeout.ts'
export { uuidV7 } from './uuid-v7.ts'
export { versioned } from './versioned.ts'
export type { VersionedSchema } from './versioned.ts'
export { defineTopic } from './define-topic.ts'
export type { AnyTopic, Topic, TopicSettings, TypedTopicOptions } from './define-topic.ts'
export { topicHandler } from './handle-topic.ts'
export type { TopicProcessing } from './handle-topic.ts'
export type {
  TopicCompletion,
  TopicContext,
  TopicDecisions,
  TopicHandler,
  TopicOutcome,
  TopicTask,
  TopicWork,
} from './topic-task.ts'
