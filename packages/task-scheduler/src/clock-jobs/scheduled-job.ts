import { invalid } from '@taskstream/task-api'
import type { ClockJob, ClockJobFunction } from './job.ts'
import { JobRun } from './job-run.ts'
import type { JobSettings } from './job-settings.ts'

/** More than clocks ever go back: usually by one hour, and at Troll in Antarctica by two. */
const longestRepeatMs = 3 * 3_600_000

/** The state of one job: its next fire, and the runs that are under way. This class reads no clock, and runs nothing. */
export class ScheduledJob {
  readonly id: string
  readonly work: ClockJobFunction
  readonly settings: JobSettings
  /** The runs that are under way: they run, or wait for a retry. */
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

  /** When the next fire is due; undefined if no fire is to come. */
  get nextMs(): number | undefined {
    return this.#nextMs
  }

  /** Whether no fire is to come, and no run is under way. */
  get isOver(): boolean {
    return this.#nextMs === undefined && this.runs.size === 0
  }

  /** When the next fire may begin. Undefined if no fire is to come, or if the job must wait for its current run. */
  get dueMs(): number | undefined {
    return this.settings.overlap || this.runs.size === 0 ? this.#nextMs : undefined
  }

  /** Takes the next fire. @throws the error of its timer; TaskError ARGUMENT_INVALID if the timer returns an earlier time */
  take(): JobRun {
    const scheduledMs = this.#nextMs!
    this.#count++
    const followingMs = this.#elapseAfter(scheduledMs)
    this.#nextMs = this.#asFire(followingMs)
    const fire = { id: this.id, scheduledFor: new Date(scheduledMs), count: this.#count }
    // The grid goes on after the last fire, so the last fire has no more time for retries than any other.
    return new JobRun(this, fire, Math.min(followingMs ?? Infinity, this.settings.endMs), followingMs)
  }

  /** Does not count a fire that has not begun, so that another one may be the last. @param followingMs the time on the grid after that fire */
  passOver(followingMs: number | undefined): void {
    this.#count--
    this.#nextMs ??= this.#asFire(followingMs)
  }

  /** Drops the fires that are due before `nowMs`. @throws as `take` */
  skip(nowMs: number): void {
    // A fire that is due at this very moment is not late.
    if (!this.settings.timer.inZone) {
      this.#nextMs = this.#after(nowMs - 1)
      return
    }
    // When clocks go back, `next(now)` may find the missed local time again, in the second pass of the repeated hour. So the search begins at an
    // instant before the change.
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

  /** Returns an elapse of the timer if the job fires then. */
  #asFire(elapseMs: number | undefined): number | undefined {
    const { endMs, maxCount } = this.settings
    return elapseMs === undefined || elapseMs > endMs || this.#count >= maxCount ? undefined : elapseMs
  }

  #elapseAfter(epochMs: number): number | undefined {
    const { timer } = this.settings
    const nextMs = timer.next(epochMs)
    // Otherwise the job would fire without a pause, for ever.
    if (nextMs !== undefined && !(nextMs > epochMs))
      throw invalid('timer', timer.expression, 'must return a time later than the one it is given')
    return nextMs
  }
}
