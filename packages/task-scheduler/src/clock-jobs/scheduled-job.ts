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
  /** The next time on the grid, whether the job has a fire left for it or not. */
  #upcomingMs: number | undefined

  constructor(id: string, work: ClockJobFunction, settings: JobSettings) {
    this.id = id
    this.work = work
    this.settings = settings
    this.#upcomingMs = settings.firstMs
  }

  /** When the next fire is due; undefined if no fire is to come. */
  get nextMs(): number | undefined {
    const { endMs, maxCount } = this.settings
    const upcomingMs = this.#upcomingMs
    return upcomingMs === undefined || upcomingMs > endMs || this.#count >= maxCount ? undefined : upcomingMs
  }

  /** Whether no fire is to come, and no run is under way. */
  get isOver(): boolean {
    return this.nextMs === undefined && this.runs.size === 0
  }

  /** When the next fire may begin. Undefined if no fire is to come, or if the job must wait for its current run. */
  get dueMs(): number | undefined {
    return this.settings.overlap || this.runs.size === 0 ? this.nextMs : undefined
  }

  /** Takes the next fire. @throws the error of its timer; TaskError ARGUMENT_INVALID if the timer returns an earlier time */
  take(): JobRun {
    const scheduledMs = this.nextMs!
    this.#count++
    this.#upcomingMs = this.#elapseAfter(scheduledMs)
    const fire = { id: this.id, scheduledFor: new Date(scheduledMs), count: this.#count }
    // The grid goes on after the last fire, so the last fire has no more time for retries than any other.
    return new JobRun(this, fire, Math.min(this.#upcomingMs ?? Infinity, this.settings.endMs))
  }

  /** Does not count a fire that has not begun, so that another one may be the last: at a time for which no fire was taken yet. */
  passOver(): void {
    this.#count--
  }

  /** Drops the fires that are due before `nowMs`. @throws as `take` */
  skip(nowMs: number): void {
    // A fire that is due at this very moment is not late.
    if (!this.settings.timer.inZone) {
      this.#upcomingMs = this.#elapseAfter(nowMs - 1)
      return
    }
    // When clocks go back, `next(now)` may find the missed local time again, in the second pass of the repeated hour. So the search begins at an
    // instant before the change.
    this.#upcomingMs = this.#elapseAfter(Math.max(this.nextMs!, nowMs - longestRepeatMs))
    for (let { nextMs } = this; nextMs !== undefined && nextMs < nowMs; { nextMs } = this)
      this.#upcomingMs = this.#elapseAfter(nextMs)
  }

  toJob(): ClockJob {
    const next = this.nextMs === undefined ? undefined : new Date(this.nextMs)
    return { id: this.id, count: this.#count, next, paused: this.paused }
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
