import { cutText, timerKey } from '@taskstream/task-api'
import type { DeclaredTimers, NodeReport, NodeTrouble, ReportAnswer, TimerKey } from '@taskstream/task-api'
import { Condition, Reporting, safeListener, toTrouble } from '@taskstream/task-processor'
import type { Clock } from '@taskstream/task-processor'

/** A scheduler has no heartbeat: it counts as dead when it has missed three reports. */
const leaseMs = 90_000
const messageLength = 500

export interface SchedulerReportingOptions {
  /** Writes a report. Undefined if the repository keeps none. */
  readonly send: ((report: NodeReport) => Promise<ReportAnswer>) | undefined
  readonly clock: Clock
  readonly declares: DeclaredTimers | undefined
  /** Called when somebody has asked the scheduler to fire no timers, or to go on. */
  readonly onQuiet: (quiet: boolean) => void
  /** Called once when reports fail. */
  readonly onError: (error: unknown) => void
}

/** Tells the database that a scheduler fires timers here, and what keeps it from that. */
export class SchedulerReporting {
  readonly #reporting: Reporting
  /** Why no timers can be looked for. */
  #trouble: NodeTrouble | undefined
  /** Why timers cannot be fired, by their keys. */
  readonly #ailing: Map<string, NodeTrouble> = new Map()

  constructor({ send, clock, declares, onQuiet, onError }: SchedulerReportingOptions) {
    // Who subscribes to the channels of nodes hears of schedulers too.
    const listener = safeListener({ onQuiet: ({ quiet }) => onQuiet(quiet), onError: ({ error }) => onError(error) })
    this.#reporting = new Reporting({
      send,
      clock,
      condition: new Condition(listener, 'report'),
      describe: () => {
        const error = this.#trouble ?? this.#ailing.values().next().value
        return { kind: 'scheduler', leaseMs, topics: [], ...(declares && { declares }), ...(error && { error }) }
      },
      onQuiet: (quiet) => listener.onQuiet({ quiet }),
    })
  }

  /** Whether somebody has asked the scheduler to fire no timers, or has changed the tables so that this release does not work on them. */
  get isQuiet(): boolean {
    return this.#reporting.takesNothing
  }

  begin(): void {
    this.#reporting.begin()
  }

  /** Never rejects. */
  stop(): Promise<void> {
    return this.#reporting.stop()
  }

  /** @param timer the timer that could not be fired, if it was not the look for timers that has failed */
  failed(error: unknown, timer: TimerKey | undefined): void {
    if (!timer) {
      if (this.#trouble) return
      this.#trouble = toTrouble('timers', error)
    } else {
      if (this.#ailing.has(timerKey(timer))) return
      const { message, ...trouble } = toTrouble('fire', error)
      const named = cutText(`timer ${timer.id} of ${timer.scope}: ${message}`, messageLength)
      this.#ailing.set(timerKey(timer), { ...trouble, message: named })
    }
    this.#reporting.changed()
  }

  /** A look has come back. @param timer the timer that was fired, if any @param isWell whether no timer is left out because it has failed */
  looked(timer: TimerKey | undefined, isWell: boolean): void {
    if (!this.#trouble && this.#ailing.size === 0) return
    const before = this.#ailing.size + (this.#trouble ? 1 : 0)
    this.#trouble = undefined
    if (timer) this.#ailing.delete(timerKey(timer))
    // Timers that were removed are not heard of again.
    else if (isWell) this.#ailing.clear()
    if (this.#ailing.size < before) this.#reporting.changed()
  }
}
