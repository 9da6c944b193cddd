import { TaskError } from '@taskstream/task-api'
import type { GroupMember } from '@taskstream/task-api'
import type { Clock } from '@taskstream/task-processor'

export interface TenureOptions {
  readonly member: GroupMember
  readonly term: number
  readonly validMs: number
  readonly clock: Clock
  /** Called once, when it ends. */
  readonly onEnd: (reason: TaskError) => void
}

/**
 * One leadership of this node, in one term. It ends by itself when no heartbeat has come through for too long, before others may take over: its time runs from
 * the sending of the last one, and others count from when they see it.
 */
export class Tenure {
  readonly term: number
  readonly #options: TenureOptions
  readonly #abort = new AbortController()
  #untilMs: number
  #cancel = (): void => {}

  constructor(options: TenureOptions, sentMs: number) {
    this.term = options.term
    this.#options = options
    this.#untilMs = sentMs + options.validMs
    this.#watch()
  }

  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Whether it holds at this moment. Each access looks at the clock, as timers are late after a process stood still. */
  get holds(): boolean {
    if (!this.signal.aborted && this.#options.clock.monotonicMs() >= this.#untilMs)
      this.end(this.lost('no heartbeat has come through in time'))
    return !this.signal.aborted
  }

  /** Notes that a heartbeat, which was sent at `sentMs`, has come through. */
  renew(sentMs: number): void {
    this.#untilMs = Math.max(this.#untilMs, sentMs + this.#options.validMs)
  }

  end(reason: TaskError): void {
    if (this.signal.aborted) return
    this.#cancel()
    this.#abort.abort(reason)
    this.#options.onEnd(reason)
  }

  lost(why: string): TaskError {
    const { member, term } = this.#options
    return leadershipLost(member, `leads no longer in term ${term}: ${why}`, term)
  }

  #watch(): void {
    const { clock } = this.#options
    this.#cancel = clock.after(Math.max(0, this.#untilMs - clock.monotonicMs()), () => {
      if (this.holds) this.#watch()
    })
  }
}

export function leadershipLost({ groupId, taskId }: GroupMember, what: string, term?: number): TaskError {
  return new TaskError('LEADERSHIP_LOST', `Node "${taskId}" of the group "${groupId}" ${what}`, {
    groupId,
    taskId,
    ...(term !== undefined && { term }),
  })
}
