import type { TaskError } from '@taskstream/task-api'
import type { ClockJobContext, ClockJobFire } from './job.ts'
import type { ScheduledJob } from './scheduled-job.ts'

/** A fire that failed and waits to be tried again. */
interface Waiting {
  /** When, by the monotonic clock. */
  readonly dueMs: number
  readonly error: unknown
}

/** One fire of a job, from its first try to the end of its last. */
export class JobRun {
  readonly job: ScheduledJob
  readonly fire: ClockJobFire
  /** When the job's grid has its next time, though it be no fire any more, or its end: no retry begins then or later. By the wall clock. */
  readonly untilMs: number
  /** While it waits to be tried again. */
  waiting: Waiting | undefined
  readonly #abort = new AbortController()
  readonly #ended = Promise.withResolvers<void>()
  #tries = 0
  #over = false

  constructor(job: ScheduledJob, fire: ClockJobFire, untilMs: number) {
    this.job = job
    this.fire = fire
    this.untilMs = untilMs
    job.runs.add(this)
  }

  get ended(): Promise<void> {
    return this.#ended.promise
  }

  get isOver(): boolean {
    return this.#over
  }

  get wasAborted(): boolean {
    return this.#abort.signal.aborted
  }

  /** What its function is told; of a run that was tried, what it was told last. */
  get context(): ClockJobContext {
    return { ...this.fire, tries: this.#tries, signal: this.#abort.signal }
  }

  /** Calls the job's function, once. @throws what it throws */
  async try(): Promise<void> {
    this.waiting = undefined
    this.#tries++
    await this.job.work(this.context)
  }

  /** Asks the function to let go. */
  abort(reason: TaskError): void {
    this.#abort.abort(reason)
  }

  /** Whether an error is but the answer to being asked: the reason itself, or what an API made of it. */
  isLettingGo(error: unknown): boolean {
    const { aborted, reason } = this.#abort.signal
    return aborted && (error === reason || (error instanceof Error && error.cause === reason))
  }

  end(): void {
    this.job.runs.delete(this)
    this.#over = true
    this.#ended.resolve()
  }
}
