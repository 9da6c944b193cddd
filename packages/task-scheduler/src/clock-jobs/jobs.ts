import type { Execution, Outcome } from '@taskstream/task-api'
import type { ClockJob, ClockJobLatePolicy, ClockJobTrigger } from './job.ts'

/**
 * Jobs that run by the clock, in this process or kept in a database. `Work` is what a job runs: a function in this process, or the name of a handler
 * in a database. The results of all methods can be awaited.
 */
export interface ClockJobs<
  Work,
  Options extends ClockJobTrigger = ClockJobTrigger & { readonly id?: string },
  E extends Execution = 'async',
> {
  /** Schedules a job. @throws TaskError ARGUMENT_INVALID, JOB_DUPLICATE; LIFECYCLE if the scheduler was stopped */
  schedule(work: Work, options: Options): Outcome<E, ClockJob>
  /** Schedules a job that runs once; a failure is logged. @throws TaskError as `schedule`, and ARGUMENT_INVALID unless `at` is in the future */
  scheduleOnce(
    work: Work,
    at: Date,
    options?: { readonly id?: string; readonly whenLate?: ClockJobLatePolicy },
  ): Outcome<E, ClockJob>
  /** Removes a job: no fire and no retry begins any more. A running fire goes on. @throws TaskError JOB_UNKNOWN */
  unschedule(id: string): Outcome<E, void>
  /** Pauses a job: no fire and no retry begins until `resume`. A running fire goes on. @throws TaskError JOB_UNKNOWN */
  pause(id: string): Outcome<E, void>
  /** Resumes a paused job. `whenLate` decides on the fires that the job missed meanwhile. @throws TaskError JOB_UNKNOWN */
  resume(id: string): Outcome<E, void>
  /** Pauses every job that exists now. Jobs that are scheduled later run. */
  pauseAll(): Outcome<E, void>
  /** Resumes every paused job. */
  resumeAll(): Outcome<E, void>
  /** The jobs that are not over: a fire is still to come, or is under way. */
  running(): Outcome<E, readonly ClockJob[]>
}
