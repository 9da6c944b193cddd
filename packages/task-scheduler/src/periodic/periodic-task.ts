import type { Misfire, PushedTask, TaskHeaders, TimerStatus, WhileUnfinished } from '@taskstream/task-api'
import type { Timer } from '@taskstream/task-timers'

/** A task that the clock submits, again and again. */
export interface PeriodicTask {
  /** 1 to 200 characters, unique in its scope. */
  readonly id: string
  /** When: a timer, or the text of one, which may be any that `parseTimer` reads. */
  readonly timer: Timer | string
  /** Where tasks are pushed to: a known topic. */
  readonly topic: string
  /** What kind of task it is, to find those of a kind by; 1 to 200 characters. */
  readonly name?: string
  /** For people: up to 500 characters. */
  readonly summary?: string
  /** Of the tasks that are pushed. Default: the id. */
  readonly identifier?: string
  readonly input?: string
  readonly headers?: TaskHeaders
  readonly priority?: number
  readonly maxTries?: number
  /** Default `once`. */
  readonly misfire?: Misfire
  /**
   * An occurrence that is late by more than this and `jitterMs` together, in whole milliseconds, is not submitted. Default: 60 000 under `skip` and
   * `drop`, otherwise without end.
   */
  readonly lateMs?: number
  /**
   * While the task that was submitted before has not ended: `skip` passes over the occurrence, and goes on with the next; `push` submits it all
   * the same. Default `skip`; under `catch-up` and `drop`, where each occurrence counts, `push`.
   */
  readonly whileUnfinished?: WhileUnfinished
  /** Each occurrence is submitted up to so many milliseconds later, by chance but on every node the same. Default 0, at most a day. */
  readonly jitterMs?: number
  /** No occurrence before this instant; one at this very instant counts. */
  readonly start?: Date
  /** No occurrence after this instant; one at this very instant counts. */
  readonly end?: Date
  /** So many tasks are submitted, and no more: 1 to 2^53 - 1. */
  readonly maxCount?: number
  /** Kept, and not submitted until it is resumed. Default false. */
  readonly paused?: boolean
}

/** A periodic task as it is kept. Instants are the database's clock, UTC. */
export interface PeriodicTaskInfo extends Omit<PeriodicTask, 'timer' | 'paused'> {
  /** Whose it is. */
  readonly scope: string
  /** The text that `parseTimer` reads. */
  readonly timer: string
  readonly identifier: string
  readonly priority: number
  readonly misfire: Misfire
  readonly whileUnfinished: WhileUnfinished
  readonly jitterMs: number
  /** Who has declared it, with `reconcile`. */
  readonly application?: string
  /** `ended`: it will never fire again, for the reason in `note`. */
  readonly status: TimerStatus
  readonly note?: string
  /** How many tasks the clock has submitted. */
  readonly fired: number
  /** How many occurrences were passed over because the task before had not ended. */
  readonly skipped: number
  /** The next occurrence, as the timer has it. */
  readonly next?: Date
  /** When that is submitted: later by its jitter. */
  readonly due?: Date
  /** The last task that was submitted, by the clock or by hand. */
  readonly last?: { readonly topic: string; readonly sequence: number; readonly occurrence?: Date }
  readonly created: Date
  readonly changed: Date
}

/** What running by hand came to: a task; or the one that has not ended, behind which none is submitted. */
export type RunNow =
  | { readonly submitted: PushedTask; readonly unfinished?: undefined }
  | { readonly submitted?: undefined; readonly unfinished: number }
