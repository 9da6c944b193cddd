export { calendar, cron, every, once, parseTimer, preview, timerLimits } from '@taskstream/task-timers'
export type { CalendarEvent, CronOptions, EveryOptions, PreviewEntry, PreviewOptions, Timer } from '@taskstream/task-timers'
export { allPeriodicTasks, firing, periodicTasks } from './periodic/periodic-tasks.ts'
export type { PeriodicTasks, PeriodicTasksOptions } from './periodic/periodic-tasks.ts'
export type { Misfire, TimerKey } from '@taskstream/task-api'
export type { PeriodicTask, PeriodicTaskInfo, RunNow } from './periodic/periodic-task.ts'
export { periodicLimits } from './periodic/definition.ts'
export type { Scheduled } from './periodic/edit.ts'
export type { PeriodicFilter } from './periodic/look.ts'
export type { Reconciliation, ReconcileOptions } from './periodic/reconcile.ts'
export { occurrenceOf } from './periodic/occurrence.ts'
export type { Occurrence } from './periodic/occurrence.ts'
export { PeriodicScheduler } from './periodic/periodic-scheduler.ts'
export type { PeriodicListener, PeriodicSchedulerOptions } from './periodic/periodic-scheduler.ts'
export type { Fired, FiredOccurrence } from './periodic/fire.ts'
export type { ZonesDiffer } from './periodic/zones-differ.ts'
export type { InputSchema } from '@taskstream/task-api'
export { typedTasks } from './periodic/typed-tasks.ts'
export type { TypedTask, TypedTaskInfo, TypedTasks, TypedTasksOptions } from './periodic/typed-tasks.ts'
export type {
  ClockJob,
  ClockJobContext,
  ClockJobErrorPolicy,
  ClockJobFire,
  ClockJobGate,
  ClockJobFunction,
  ClockJobLatePolicy,
  ClockJobOnceOptions,
  ClockJobOptions,
  ClockJobOverlap,
  ClockJobRetrying,
  ClockJobTimes,
  ClockJobTrigger,
} from './clock-jobs/job.ts'
export type { WallClock } from './clock-jobs/job-clock.ts'
export { JobListener } from './clock-jobs/job-listener.ts'
export type { AttachOptions, JobListenerOptions, JobService } from './clock-jobs/job-listener.ts'
export type { ClockJobLog, ClockJobLogEntry } from './clock-jobs/job-log.ts'
export type { ClockJobLimits } from './clock-jobs/job-loop.ts'
export { ClockJobScheduler } from './clock-jobs/job-scheduler.ts'
export type { ClockJobSchedulerOptions } from './clock-jobs/job-scheduler.ts'
export type { ClockJobStopOptions, ClockJobStopReport } from './clock-jobs/job-stop.ts'
export type { ClockJobs } from './clock-jobs/jobs.ts'
export { PersistedClockJobs } from './persisted-clock-jobs/persisted-jobs.ts'
export type { PersistedClockJobOptions } from './persisted-clock-jobs/persisted-jobs.ts'
export type {
  PersistedClockJobContext,
  PersistedClockJobFunction,
  PersistedClockJobsOptions,
} from './persisted-clock-jobs/options.ts'
