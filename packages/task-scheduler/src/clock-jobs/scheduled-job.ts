import { invalid } from '@taskstream/task-api'
import type { ClockJob, ClockJobFunction } from './job.ts'
import { JobRun } from './job-run.ts'
import type { JobSettings } from './job-settings.ts'

/** Clocks go back by an hour, and at Troll in Antarctica by two. */
const longestRepeatMs = 3 * 3_600_000

/** What is known of one job: which fire is next, and what is under way. It reads no clock, and runs nothing. */
export class ScheduledJob {
  readonly id: string
  readonly work: ClockJobFunction
  readonly settings: JobSettings
  /** What is under way: running, or waiting to be tried again. */
  readonly runs: Set<JobRun> = new Set()
  paused = false
  #count = 0
  #nextMs: number | undefined

  constructor(id: string, work: ClockJobFunction, settings: JobSettings) {
    this.id = id
    this.work = work
    this.settings = settings
    this.#nextMs = settings.firstMs
  }

  /** When the next fire is due; undefined: there is none any more. */
  get nextMs(): number | undefined {
    return this.#nextMs
  }

  /** Whether nothing is to come of it, and nothing is under way. */
  get isOver(): boolean {
    return this.#nextMs === undefined && this.runs.size === 0
  }

  /** When a fire may begin, as far as it lies with the job; undefined: not before something of it ends. */
  get dueMs(): number | undefined {
    return this.settings.overlap || this.runs.size === 0 ? this.#nextMs : undefined
  }

  /** Takes the fire that is next. @throws what its timer throws; TaskError ARGUMENT_INVALID if that goes back */
  take(): JobRun {
    const scheduledMs = this.#nextMs!
    this.#count++
    const followingMs = this.#elapseAfter(scheduledMs)
    this.#nextMs = this.#asFire(followingMs)
    const fire = { id: this.id, scheduledFor: new Date(scheduledMs), count: this.#count }
    // The last fire has no more time than any other: its grid goes on.
    return new JobRun(this, fire, Math.min(followingMs ?? Infinity, this.settings.endMs))
  }

  /** Drops what is due before `nowMs`. @throws as `take` */
  skip(nowMs: number): void {
    // A fire that is due at this very moment is not late.
    if (!this.settings.timer.inZone) {
      this.#nextMs = this.#after(nowMs - 1)
      return
    }
    // Where clocks went back, the time that was missed comes again, and would be found by what follows now: a fire after it is looked for
    // from before the change.
    this.#nextMs = this.#after(Math.max(this.#nextMs!, nowMs - longestRepeatMs))
    while (this.#nextMs !== undefined && this.#nextMs < nowMs) this.#nextMs = this.#after(this.#nextMs)
  }

  toJob(): ClockJob {
    const next = this.#nextMs === undefined ? undefined : new Date(this.#nextMs)
    return { id: this.id, count: this.#count, next, paused: this.paused }
  }

  #after(epochMs: number): number | undefined {
    return this.#count >= this.settings.maxCount ? undefined : this.#asFire(this.#elapseAfter(epochMs))
  }

  /** An elapse of the timer, if the job fires then. */
  #asFire(elapseMs: number | undefined): number | undefined {
    const { endMs, maxCount } = this.settings
    return elapseMs === undefined || elapseMs > endMs || this.#count >= maxCount ? undefined : elapseMs
  }

  #elapseAfter(epochMs: number): number | undefined {
    const { timer } = this.settings
    const nextMs = timer.next(epochMs)
    // Otherwise the job would fire for ever, at once.
    if (nextMs !== undefined && !(nextMs > epochMs))
      throw invalid('timer', timer.expression, 'must return a time later than the one it is given')
    return nextMs
  }
}
