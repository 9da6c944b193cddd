import type { TaskError } from '@taskstream/task-api'
import type { ClockJobContext, ClockJobFire } from './job.ts'
import type { ScheduledJob } from './scheduled-job.ts'

/** A fire that failed and waits to be tried again. */
interface Waiting {
  /** When the retry is due, in milliseconds of the monotonic clock. */
  readonly dueMs: number
  readonly error: unknown
}

/** One fire of a job, from its first try to the end of its last. */
export class JobRun {
  readonly job: ScheduledJob
  readonly fire: ClockJobFire
  /** From this time of the wall clock on, no retry begins: the next time on the job's grid, even if no fire is due then, or the job's end. */
  readonly untilMs: number
  /** The retry that this run waits for, if it does. */
  waiting: Waiting | undefined
  #gate: AbortSignal | undefined
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

  /** Whether the gate's signal has aborted, so that this fire is no longer this process's. */
  get isWithdrawn(): boolean {
    return this.#gate?.aborted === true
  }

  /** The context for the job's function, as of the current or the last try. */
  get context(): ClockJobContext {
    return { ...this.fire, tries: this.#tries, signal: this.#abort.signal }
  }

  /** Calls the job's function once. @throws the error of the function */
  async try(): Promise<void> {
    this.waiting = undefined
    this.#tries++
    await this.job.work(this.context)
  }

  /** The gate has let this fire begin, until its signal aborts. */
  admit(gate: AbortSignal): void {
    this.#gate = gate
    if (gate.aborted) this.#withdraw()
    else gate.addEventListener('abort', this.#withdraw)
  }

  /** The gate has not let this fire begin. */
  passOver(): void {
    this.end()
    this.job.passOver()
  }

  readonly #withdraw = (): void => this.#abort.abort(this.#gate!.reason)

  /** Asks the function to end, by its signal. */
  abort(reason: TaskError): void {
    this.#abort.abort(reason)
  }

  /** Whether an error only results from the abort: it is the abort's reason, or an error whose cause is that reason. */
  isLettingGo(error: unknown): boolean {
    const { aborted, reason } = this.#abort.signal
    return aborted && (error === reason || (error instanceof Error && error.cause === reason))
  }

  end(): void {
    this.#gate?.removeEventListener('abort', this.#withdraw)
    this.job.runs.delete(this)
    this.#over = true
    this.#ended.resolve()
  }
}
