import { checkDuration } from '@taskstream/task-api'
import type { WallClock } from './job-clock.ts'
import { describe, missed } from './job-log.ts'
import type { ClockJobLog } from './job-log.ts'
import type { ClockJobGate } from './job.ts'
import type { JobRun } from './job-run.ts'
import type { ScheduledJob } from './scheduled-job.ts'

/** The wall clock may be set at any time, so the loop looks at it at least this often. */
const longestSleepMs = 60_000

export interface ClockJobLimits {
  /** How many jobs run at a time, at least 1. Default 5. */
  readonly workers: number
  /** By how many milliseconds a fire may be late before `whenLate` decides, 0 to 100 years. Default 5 000. */
  readonly waitingTimeMs: number
}

/** Starts jobs when they are due, and decides what becomes of failed and late fires. Only this class waits for time to pass. */
export class JobLoop {
  readonly #jobs = new Map<string, ScheduledJob>()
  /** The runs that have a worker. */
  readonly #running = new Set<JobRun>()
  readonly #clock: WallClock
  readonly #log: ClockJobLog
  #limits: ClockJobLimits
  /** Lets fires begin, or passes them over. Without a gate all begin. */
  readonly #gate: ClockJobGate | undefined
  #woken = false
  #cancelSleep = (): void => {}

  constructor(clock: WallClock, log: ClockJobLog, limits: ClockJobLimits, gate?: ClockJobGate) {
    this.#clock = clock
    this.#log = log
    this.#limits = limits
    this.#gate = gate
  }

  /** The jobs that are not over, by id. */
  get jobs(): ReadonlyMap<string, ScheduledJob> {
    return this.#jobs
  }

  get running(): ReadonlySet<JobRun> {
    return this.#running
  }

  get limits(): ClockJobLimits {
    return this.#limits
  }

  set limits(limits: ClockJobLimits) {
    this.#limits = limits
    this.wake()
  }

  add(job: ScheduledJob): void {
    this.#jobs.set(job.id, job)
    this.wake()
  }

  /** Removes a job: no fire of the job begins any more. A run that waits for a retry fails with its last error. */
  remove(job: ScheduledJob): void {
    if (this.#isScheduled(job)) this.#jobs.delete(job.id)
    for (const run of job.runs) if (run.waiting) this.#fail(run, run.waiting.error)
    this.wake()
  }

  /** Looks for due jobs in a later turn of the event loop, so that jobs that are always due leave time for other work. */
  wake(): void {
    if (this.#woken) return
    this.#woken = true
    setImmediate(() => {
      this.#woken = false
      this.#turn()
    })
  }

  #turn(): void {
    this.#cancelSleep()
    while (this.#startDue()) continue
    this.#sleep()
  }

  /** Starts each due job at most once, so that a job with many missed fires keeps no other job waiting. @returns whether more may be due */
  #startDue(): boolean {
    const nowMs = this.#nowMs()
    let begun = false
    const due = [...this.#jobs.values()].filter((job) => mayBegin(job, nowMs))
    for (const job of due.sort((a, b) => (a.nextMs ?? nowMs) - (b.nextMs ?? nowMs)))
      // Checked again for each job, because a job that was just started may have paused or unscheduled this one.
      if (!job.paused && this.#isScheduled(job)) begun = this.#retry(job) || this.#fire(job) || begun
    return begun
  }

  #retry(job: ScheduledJob): boolean {
    for (const run of job.runs) {
      if (!run.waiting) continue
      if (run.isWithdrawn) {
        run.end()
        this.#removeIfOver(job)
        return true
      }
      if (this.#nowMs() >= run.untilMs) {
        this.#fail(run, run.waiting.error)
        return true
      }
      if (this.#hasWorker && run.waiting.dueMs <= this.#clock.monotonicMs()) {
        void this.#run(run)
        return true
      }
    }
    return false
  }

  #fire(job: ScheduledJob): boolean {
    const nowMs = this.#nowMs()
    const { dueMs } = job
    if (dueMs === undefined || dueMs > nowMs || !this.#hasWorker) return false
    try {
      if (job.settings.whenLate !== 'wait' && nowMs - dueMs > this.#limits.waitingTimeMs) this.#skip(job, nowMs)
      else void this.#run(job.take())
    } catch (error) {
      const message = `Job "${job.id}" is unscheduled: its timer failed: ${describe(error)}`
      this.#log({ message, id: job.id, scheduledFor: new Date(dueMs), error })
      this.remove(job)
    }
    return true
  }

  #skip(job: ScheduledJob, nowMs: number): void {
    const { id } = job
    const scheduledFor = new Date(job.nextMs!)
    job.skip(nowMs)
    const next = job.nextMs === undefined ? undefined : new Date(job.nextMs)
    if (job.settings.whenLate === 'log-and-ignore') this.#log(missed(id, scheduledFor, next))
    this.#removeIfOver(job)
  }

  /** Tries a run once. Never throws. */
  async #run(run: JobRun): Promise<void> {
    this.#running.add(run)
    try {
      // Without a gate a run begins at once, so that it may still pause or unschedule jobs that are due with it.
      if (this.#gate && !(await this.#mayTry(run, this.#gate))) return
      await run.try()
      run.end()
      this.#removeIfOver(run.job)
    } catch (error) {
      this.#failed(run, error)
    } finally {
      this.#running.delete(run)
      this.wake()
    }
  }

  /** Asks the gate before the first try of a fire. */
  async #mayTry(run: JobRun, gate: ClockJobGate): Promise<boolean> {
    if (run.context.tries > 0) return true
    const { job, fire } = run
    let signal: AbortSignal | undefined
    try {
      signal = await gate(fire)
    } catch (error) {
      const message = `Job "${job.id}" does not begin: whether it may is not known: ${describe(error)}`
      this.#log({ message, id: job.id, scheduledFor: fire.scheduledFor, error })
    }
    if (signal) run.admit(signal)
    if (signal && this.#isScheduled(job)) return true
    run.passOver()
    this.#removeIfOver(job)
    return false
  }

  #failed(run: JobRun, error: unknown): void {
    if (run.isWithdrawn || run.isLettingGo(error)) {
      run.end()
      this.#removeIfOver(run.job)
      return
    }
    let pauseMs: number | undefined
    try {
      if (this.#isScheduled(run.job)) pauseMs = run.job.settings.retry?.(run.context, error)
      if (pauseMs !== undefined) checkDuration('the pause of the retry policy', pauseMs)
    } catch (policyError) {
      const message = `${describe(error)}; and it is not tried again: ${describe(policyError)}`
      this.#fail(run, new AggregateError([error, policyError], message))
      return
    }
    if (pauseMs === undefined || this.#nowMs() + pauseMs >= run.untilMs) this.#fail(run, error)
    else run.waiting = { dueMs: this.#clock.monotonicMs() + pauseMs, error }
  }

  /** Ends a run that has no further try, and applies the job's `onError`. */
  #fail(run: JobRun, error: unknown): void {
    const { job, fire, context } = run
    const { onError } = job.settings
    run.waiting = undefined
    run.end()
    const terminate = onError === 'log-and-terminate' || onError === 'terminate'
    if (onError === 'log-and-terminate' || onError === 'log-and-continue') {
      const tries = context.tries > 1 ? ` after ${context.tries} tries` : ''
      const end = terminate && this.#isScheduled(job) ? ' and is unscheduled' : ''
      this.#log({
        id: job.id,
        scheduledFor: fire.scheduledFor,
        message: `Job "${job.id}" failed${tries}${end}: ${describe(error)}`,
        error,
      })
    }
    if (terminate) this.remove(job)
    else this.#removeIfOver(job)
  }

  /** Sleeps until the next fire, retry or end of retries is due. Jobs that wait for a worker, or for their previous run, are checked when a run ends. */
  #sleep(): void {
    if (!this.#hasWorker) return
    const nowMs = this.#nowMs()
    const monotonicMs = this.#clock.monotonicMs()
    let waitMs = Infinity
    for (const job of this.#jobs.values()) {
      if (job.paused) continue
      waitMs = Math.min(waitMs, (job.dueMs ?? Infinity) - nowMs)
      for (const { waiting, untilMs } of job.runs)
        if (waiting) waitMs = Math.min(waitMs, waiting.dueMs - monotonicMs, untilMs - nowMs)
    }
    if (waitMs === Infinity) return
    this.#cancelSleep = this.#clock.after(Math.max(0, Math.min(waitMs, longestSleepMs)), () => this.#turn())
  }

  #removeIfOver(job: ScheduledJob): void {
    if (job.isOver && this.#isScheduled(job)) this.#jobs.delete(job.id)
  }

  #isScheduled(job: ScheduledJob): boolean {
    return this.#jobs.get(job.id) === job
  }

  get #hasWorker(): boolean {
    return this.#running.size < this.#limits.workers
  }

  #nowMs(): number {
    return this.#clock.now().getTime()
  }
}

function mayBegin({ dueMs, runs }: ScheduledJob, nowMs: number): boolean {
  return (dueMs !== undefined && dueMs <= nowMs) || (runs.size > 0 && [...runs].some(({ waiting }) => waiting !== undefined))
}
