import { randomUUID } from 'node:crypto'
import { checkDuration, checkOptions, checkText, invalid, TaskError, taskLimits } from '@taskstream/task-api'
import { checkElapse } from '@taskstream/task-timers'
import { once } from '@taskstream/task-timers'
import { systemWallClock } from './job-clock.ts'
import type { WallClock } from './job-clock.ts'
import { logToConsole, safeLog } from './job-log.ts'
import type { ClockJobLog } from './job-log.ts'
import { JobLoop } from './job-loop.ts'
import type { ClockJobLimits } from './job-loop.ts'
import { checkJob, jobNames } from './job-settings.ts'
import { stopRuns } from './job-stop.ts'
import type { ClockJobStopOptions, ClockJobStopReport } from './job-stop.ts'
import type { ClockJob, ClockJobFunction, ClockJobGate, ClockJobOnceOptions, ClockJobOptions } from './job.ts'
import type { ClockJobs } from './jobs.ts'
import { ScheduledJob } from './scheduled-job.ts'

export interface ClockJobSchedulerOptions extends Partial<ClockJobLimits> {
  /** Default: the clock of the system. Tests give a `TestClock`. */
  readonly clock?: WallClock
  /** Called for jobs that failed or missed their time, if their policies say that this is logged. Default `console.error`. */
  readonly onLog?: ClockJobLog
  /** Lets each fire begin, or passes it over. Default: all begin. */
  readonly gate?: ClockJobGate
}

/**
 * Runs functions by the clock, in this process. The jobs end with the process; `PersistedClockJobs` keeps them in the database. The scheduler needs no
 * start, and without jobs it does not keep the process from ending.
 *
 * @example
 * await using jobs = new ClockJobScheduler({ workers: 5 })
 * jobs.schedule(() => report(), { intervalMs: 60_000, maxCount: 10, onError: 'log-and-continue' })
 */
export class ClockJobScheduler implements ClockJobs<ClockJobFunction, ClockJobOptions, 'sync'> {
  readonly #clock: WallClock
  readonly #loop: JobLoop
  readonly #hurry = Promise.withResolvers<void>()
  #stopping: Promise<ClockJobStopReport> | undefined

  /** @throws TaskError ARGUMENT_INVALID */
  constructor(options: ClockJobSchedulerOptions = {}) {
    checkOptions('a job scheduler', options, { workers: true, waitingTimeMs: true, clock: true, onLog: true, gate: true })
    const { clock = systemWallClock, onLog = logToConsole, workers = 5, waitingTimeMs = 5_000, gate } = options
    if (typeof onLog !== 'function') throw invalid('onLog', onLog, 'must be a function')
    this.#clock = clock
    if (gate !== undefined && typeof gate !== 'function') throw invalid('gate', gate, 'must be a function')
    this.#loop = new JobLoop(clock, safeLog(onLog), checkLimits({ workers, waitingTimeMs }), gate)
  }

  /**
   * Schedules a function.
   *
   * @throws TaskError ARGUMENT_INVALID; JOB_DUPLICATE if there is a job of that id; LIFECYCLE if the scheduler was stopped
   * @example
   * jobs.schedule(({ signal }) => refresh({ signal }), { timer: cron('0 3 * * *'), whenLate: 'ignore' })
   */
  schedule(work: ClockJobFunction, { id = randomUUID(), ...options }: ClockJobOptions): ClockJob {
    if (this.#stopping) throw new TaskError('LIFECYCLE', 'The job scheduler was stopped: make a new one')
    if (typeof work !== 'function') throw invalid('work', work, 'must be a function')
    checkOptions<object>('a job', options, jobNames)
    checkText('id', id, taskLimits.topicLength)
    const job = new ScheduledJob(id, work, checkJob(options, this.#clock.now()))
    if (this.#loop.jobs.has(id))
      throw new TaskError('JOB_DUPLICATE', `There is a job "${id}" already: choose another id, or unschedule that job`, { id })
    this.#loop.add(job)
    return job.toJob()
  }

  /**
   * Schedules a function to run once. A failure is logged.
   *
   * @param at an instant in the future, before the year 2200
   *
   * @throws TaskError as `schedule`, and ARGUMENT_INVALID unless `at` is in the future
   * @example
   * jobs.scheduleOnce(() => remind(), new Date(Date.now() + 60_000))
   */
  scheduleOnce(work: ClockJobFunction, at: Date, options: ClockJobOnceOptions = {}): ClockJob {
    checkOptions('a job that runs once', options, { id: true, retry: true, whenLate: true })
    checkElapse('at', at)
    const now = this.#clock.now()
    if (at <= now) throw invalid('at', at.toISOString(), `must be in the future: it is ${now.toISOString()}`)
    return this.schedule(work, { ...options, timer: once(at), onError: 'log-and-continue' })
  }

  unschedule(id: string): void {
    this.#loop.remove(this.#job(id))
  }

  pause(id: string): void {
    this.#job(id).paused = true
    this.#loop.wake()
  }

  resume(id: string): void {
    this.#job(id).paused = false
    this.#loop.wake()
  }

  pauseAll(): void {
    for (const job of this.#loop.jobs.values()) job.paused = true
    this.#loop.wake()
  }

  resumeAll(): void {
    for (const job of this.#loop.jobs.values()) job.paused = false
    this.#loop.wake()
  }

  running(): readonly ClockJob[] {
    return [...this.#loop.jobs.values()].map((job) => job.toJob())
  }

  /**
   * Changes how many jobs run at a time, or how late a fire may be. Jobs stay scheduled as they are. If there are now fewer workers than running jobs,
   * these jobs still run to their end.
   *
   * @throws TaskError ARGUMENT_INVALID
   */
  configure(limits: Partial<ClockJobLimits>): void {
    checkOptions('configure', limits, { workers: true, waitingTimeMs: true })
    const { workers = this.#loop.limits.workers, waitingTimeMs = this.#loop.limits.waitingTimeMs } = limits
    this.#loop.limits = checkLimits({ workers, waitingTimeMs })
  }

  /**
   * Unschedules every job, and waits `graceMs` for running jobs to end; default 10 000. Then it aborts their signals and waits `abortMs` more; default
   * 2 000. A second call returns the same report, and `graceMs: 0` then ends the grace at once.
   *
   * @throws TaskError ARGUMENT_INVALID
   */
  stop(options: ClockJobStopOptions = {}): Promise<ClockJobStopReport> {
    checkOptions('stop', options, { graceMs: true, abortMs: true })
    const { graceMs = 10_000, abortMs = 2_000 } = options
    checkDuration('graceMs', graceMs)
    checkDuration('abortMs', abortMs)
    if (graceMs === 0) this.#hurry.resolve()
    this.#stopping ??= stopRuns(this.#clock, [...this.#loop.running], { graceMs, abortMs }, this.#hurry.promise)
    for (const job of this.#loop.jobs.values()) this.#loop.remove(job)
    return this.#stopping
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  #job(id: string): ScheduledJob {
    const job = this.#loop.jobs.get(id)
    if (job) return job
    throw new TaskError('JOB_UNKNOWN', `There is no job "${id}": it was never scheduled, is over, or was unscheduled`, { id })
  }
}

function checkLimits(limits: ClockJobLimits): ClockJobLimits {
  const { workers, waitingTimeMs } = limits
  if (!Number.isSafeInteger(workers) || workers < 1) throw invalid('workers', workers, 'must be a whole number, at least 1')
  checkDuration('waitingTimeMs', waitingTimeMs)
  return { workers, waitingTimeMs }
}
