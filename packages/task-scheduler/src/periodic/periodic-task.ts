import type { Misfire, PushedTask, TaskHeaders, TimerStatus, WhileUnfinished } from '@taskstream/task-api'
import type { Timer } from '@taskstream/task-timers'

/** A task that is pushed whenever its timer elapses. */
export interface PeriodicTask {
  /** The timer's id: 1 to 200 characters, unique in its scope. */
  readonly id: string
  /** When the task is pushed: a timer, or a text that `parseTimer` reads. */
  readonly timer: Timer | string
  /** The topic to which tasks are pushed. It must be initialized. */
  readonly topic: string
  /** The kind of task, by which `list` finds timers: 1 to 200 characters. */
  readonly name?: string
  /** A text for people, of up to 500 characters. */
  readonly summary?: string
  /** The identifier of the tasks. Default: `id`. */
  readonly identifier?: string
  readonly input?: string
  readonly headers?: TaskHeaders
  readonly priority?: number
  readonly maxTries?: number
  /** What is done with missed occurrences. Default `once`. */
  readonly misfire?: Misfire
  /**
   * How late an occurrence may be submitted, in whole milliseconds, beyond `jitterMs`. A later one is not submitted. Default: 60 000 under `skip` and
   * `drop`, otherwise no limit.
   */
  readonly lateMs?: number
  /**
   * What is done with an occurrence while the timer's last task has not ended. `skip` passes over the occurrence; `push` submits a task all the same.
   * The default is `push` under `catch-up` and `drop`, where each occurrence counts, and otherwise `skip`.
   */
  readonly whileUnfinished?: WhileUnfinished
  /** By how many milliseconds an occurrence is submitted later at most, 0 to a day. Default 0. The delay is random but the same on every node. */
  readonly jitterMs?: number
  /** The first instant at which an occurrence counts. */
  readonly start?: Date
  /** The last instant at which an occurrence counts. */
  readonly end?: Date
  /** How many tasks the clock submits at most, 1 to 2^53 - 1. `runNow` does not count. */
  readonly maxCount?: number
  /** Whether the timer is stored but does not fire until it is resumed. Default false. */
  readonly paused?: boolean
}

/** A periodic task as it is stored. Instants are of the database's clock. */
export interface PeriodicTaskInfo extends Omit<PeriodicTask, 'timer' | 'paused'> {
  /** The scope that has the timer. */
  readonly scope: string
  /** The timer's expression, which `parseTimer` reads. */
  readonly timer: string
  readonly identifier: string
  readonly priority: number
  readonly misfire: Misfire
  readonly whileUnfinished: WhileUnfinished
  readonly jitterMs: number
  /** The application that declared the timer by `reconcile`. */
  readonly application?: string
  /** Whether the timer runs. With `ended` it never fires again, and `note` says why. */
  readonly status: TimerStatus
  readonly note?: string
  /** How many tasks the clock has submitted. */
  readonly fired: number
  /** How often due occurrences were passed over because the timer's last task had not ended. Several that were due at once count as one. */
  readonly skipped: number
  /** The next occurrence, without its jitter. */
  readonly next?: Date
  /** When the next occurrence is submitted: later by its jitter. */
  readonly due?: Date
  /** The last task that was submitted, by the clock or by hand. */
  readonly last?: { readonly topic: string; readonly sequence: number; readonly occurrence?: Date }
  readonly created: Date
  readonly changed: Date
}

/** The outcome of `runNow`: the submitted task, or the sequence of an unfinished task, because of which none was submitted. */
export type RunNow =
  | { readonly submitted: PushedTask; readonly unfinished?: undefined }
  | { readonly submitted?: undefined; readonly unfinished: number }
