export { defineJob } from './define-job.ts'
export type { AnyJob, EndOf, Job, JobOf, JobOptions, JobSettings } from './define-job.ts'
export type { ExternalHandler, ExternalJob } from './external-job.ts'
export { externalProcess } from './external-process.ts'
export type { ExternalProcessOptions } from './external-process.ts'
export { httpRequest } from './http-request.ts'
export type { HttpRequestOptions } from './http-request.ts'
export { jobHandler } from './handle-job.ts'
export type { JobEnvironment, JobHandling } from './handle-job.ts'
export type { HeldJob, JobCommit, JobContinuation, JobHandler, JobOutcome } from './held-job.ts'
export { infoOf, parsed } from './job-info.ts'
export type { JobDetails, JobInfo, JobState } from './job-info.ts'
export { taskSelectorOf } from './job-selector.ts'
export type { JobSelector } from './job-selector.ts'
export { json } from './json.ts'
export type { JsonOnly } from './json-only.ts'
export { creationOf, idOf, refOf, tagsOf } from './push-job.ts'
export type { JobPushOptions, JobRef, PushArguments } from './push-job.ts'
export { InProcess } from './in-process.ts'
export type { Done } from './in-process.ts'
export { tagFilter } from './tag-filter.ts'
export type { JobTags, TaskDefinition, TaskSettings } from './task-settings.ts'
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
