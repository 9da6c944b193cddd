import type { Execution, Outcome } from '@taskstream/task-api'
import type { ClockJob, ClockJobLatePolicy, ClockJobTrigger } from './job.ts'

/**
 * Jobs that run by the clock, whether they are kept in this process or in a database. `Work` is what is scheduled: a function, where it need
 * not outlive the process, or the name of a handler. Awaiting any answer is right.
 */
export interface ClockJobs<
  Work,
  Options extends ClockJobTrigger = ClockJobTrigger & { readonly id?: string },
  E extends Execution = 'async',
> {
  /** @throws TaskError ARGUMENT_INVALID, JOB_DUPLICATE; LIFECYCLE when it was stopped */
  schedule(work: Work, options: Options): Outcome<E, ClockJob>
  /** Once; a failure is logged. @throws TaskError as `schedule`, and ARGUMENT_INVALID unless `at` is in the future */
  scheduleOnce(
    work: Work,
    at: Date,
    options?: { readonly id?: string; readonly whenLate?: ClockJobLatePolicy },
  ): Outcome<E, ClockJob>
  /** No fire and no retry begins any more; what runs goes on. @throws TaskError JOB_UNKNOWN */
  unschedule(id: string): Outcome<E, void>
  /** Nothing of it begins until it is resumed; what runs goes on. Paused already, it stays so. @throws TaskError JOB_UNKNOWN */
  pause(id: string): Outcome<E, void>
  /** What it missed meanwhile is late, and `whenLate` decides. Not paused, nothing changes. @throws TaskError JOB_UNKNOWN */
  resume(id: string): Outcome<E, void>
  /** Pauses each job that there is; jobs that are scheduled later run. */
  pauseAll(): Outcome<E, void>
  /** Resumes each job that is paused. */
  resumeAll(): Outcome<E, void>
  /** The jobs that are not over: a fire is still to come, or under way. */
  running(): Outcome<E, readonly ClockJob[]>
}
