export { calendar } from './calendar-event/calendar-event.ts'
export type { CalendarEvent } from './calendar-event/calendar-event.ts'
export { cron } from './cron.ts'
export type { CronOptions } from './cron.ts'
export { every } from './every.ts'
export type { EveryOptions } from './every.ts'
export { once } from './once.ts'
export { parseTimer } from './parse-timer.ts'
export { preview } from './preview.ts'
export type { PreviewEntry, PreviewOptions } from './preview.ts'
export { timerLimits } from './timer.ts'
export type { Timer } from './timer.ts'
export type {
  Job,
  JobContext,
  JobErrorPolicy,
  JobFire,
  JobFunction,
  JobLatePolicy,
  JobOnceOptions,
  JobOptions,
  JobOverlap,
  JobRetrying,
  JobTimes,
  JobTrigger,
} from './jobs/job.ts'
export type { JobClock } from './jobs/job-clock.ts'
export { JobListener } from './jobs/job-listener.ts'
export type { AttachOptions, JobListenerOptions, JobService } from './jobs/job-listener.ts'
export type { JobLog, JobLogEntry } from './jobs/job-log.ts'
export type { JobLimits } from './jobs/job-loop.ts'
export { JobScheduler } from './jobs/job-scheduler.ts'
export type { JobSchedulerOptions } from './jobs/job-scheduler.ts'
export type { JobStopReport } from './jobs/job-stop.ts'
export type { Jobs } from './jobs/jobs.ts'
