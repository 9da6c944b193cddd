export { defineJob } from './definitions/define-job.ts'
export type { AnyJob, EndOf, Job, JobOf, JobOptions, JobSettings } from './definitions/define-job.ts'
export { defineQueue, topicOf } from './definitions/define-queue.ts'
export type { Queue, QueueOptions, QueueSettings } from './definitions/define-queue.ts'
export { isLimited } from './definitions/job-limits.ts'
export type { CheckedLimits, DefinedLimits, JobLimits } from './definitions/job-limits.ts'
export type { ExternalHandler, ExternalJob } from './external/external-job.ts'
export { externalProcess } from './external/external-process.ts'
export type { ExternalProcessOptions } from './external/external-process.ts'
export { checkInPath, checkProcessGroups, programOf } from './external/program.ts'
export type { Program } from './external/program.ts'
export { runProgram } from './external/run-program.ts'
export type { Ended, RunLimits } from './external/run-program.ts'
export { withAskedPause } from './definitions/asked-pause.ts'
export { httpRequest } from './external/http-request.ts'
export type { HttpRequestOptions } from './external/http-request.ts'
export { jobHandler, routedHandler } from './handling/handle-job.ts'
export type { JobEnvironment, JobHandling } from './handling/handle-job.ts'
export type { HeldJob, JobCommit, JobContinuation, JobHandler, JobOutcome } from './handling/held-job.ts'
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
} from './jobs/job-change.ts'
export type { JobChange } from './jobs/job-change.ts'
export { infoOf, parsed } from './jobs/job-info.ts'
export type { JobDetails, JobInfo, JobState } from './jobs/job-info.ts'
export { isOf, jobNameOf } from './definitions/job-name.ts'
export { JobRoutes } from './handling/job-routes.ts'
export type { JobRoute, RouteHandler } from './handling/job-routes.ts'
export { taskSelectorOf } from './jobs/job-selector.ts'
export type { JobSelector } from './jobs/job-selector.ts'
export { JobSignatures } from './signatures/job-signatures.ts'
export type { SigningOptions, VerificationOptions } from './signatures/job-signatures.ts'
export { json } from './definitions/json.ts'
export type { JsonOnly } from './definitions/json-only.ts'
export { creationOf } from './jobs/push-job.ts'
export { idOf, refOf, tagsOf } from './definitions/job-ref.ts'
export type { AnyPushOptions, JobPushOptions, PushArguments } from './jobs/push-job.ts'
export type { JobRef } from './definitions/job-ref.ts'
export { many, dependenciesOf, settled } from './definitions/needs.ts'
export type { ManyNeed, Need, NeededRefs, NeededResults, NeedMap, Settled, SettledNeed } from './definitions/needs.ts'
export type { NeededEnding } from './handling/needed-results.ts'
export { checkMiddleware } from './handling/middleware.ts'
export type { AnyHeldJob, JobMiddleware, JobReturn, MiddlewareOutcome } from './handling/middleware.ts'
export { InProcess } from './jobs/in-process.ts'
export type { Done } from './jobs/in-process.ts'
export { checkSecretNames } from './definitions/secret-options.ts'
export type { SigningKey, VerificationKey } from './signatures/signature-keys.ts'
export { withoutSuffix } from './definitions/sub-keys.ts'
export type { SubKeys } from './definitions/sub-keys.ts'
export { tagFilter } from './jobs/tag-filter.ts'
export { inputOf, pushedVersionOf } from './definitions/task-input.ts'
export type { StoredInput } from './definitions/task-input.ts'
export type { JobTags, Signed, TaskDefinition, TaskSettings } from './definitions/task-settings.ts'
export { timeoutOf } from './definitions/task-timeout.ts'
export { uuidV7 } from './signatures/uuid-v7.ts'
export { versioned } from './definitions/versioned.ts'
export type { VersionedSchema } from './definitions/versioned.ts'
export { defineTopic } from './definitions/define-topic.ts'
export type { AnyTopic, Topic, TopicSettings, TypedTopicOptions } from './definitions/define-topic.ts'
export { topicHandler } from './handling/handle-topic.ts'
export type { TopicProcessing } from './handling/handle-topic.ts'
export type {
  TopicCompletion,
  TopicContext,
  TopicDecisions,
  TopicHandler,
  TopicOutcome,
  TopicTask,
  TopicWork,
} from './handling/topic-task.ts'
