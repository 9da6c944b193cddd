import type { BatchEnvironment } from '../batches/batch.ts'
import type { Condition } from '../core/listener.ts'
import { pauseMs } from '../core/retry-policy.ts'
import type { PollSettings } from './poll-settings.ts'
import type { Wake } from './wake.ts'

export interface LoopSleepOptions<Transaction> {
  readonly environment: Pick<BatchEnvironment<Transaction>, 'clock' | 'topic'>
  readonly settings: PollSettings<Transaction>
  readonly wake: Wake
  readonly polling: Condition
  /** How many tasks of the topic this process holds, as far as it knows. */
  readonly held: () => number
}

/** How a poll loop sleeps: for how long, alone or with the loops of other topics, and what others get meanwhile. */
export class LoopSleep<Transaction> {
  readonly #options: LoopSleepOptions<Transaction>
  /** How many polls in a row have found nothing. */
  #empty = 0

  constructor(options: LoopSleepOptions<Transaction>) {
    this.#options = options
  }

  /** Notes that a poll has found tasks. */
  foundTasks(): void {
    this.#empty = 0
  }

  /** Gives the pause after another poll that has found nothing, in milliseconds. */
  pauseAfterEmpty(): number {
    const longest = this.#options.settings.idleMs()
    return pauseMs(++this.#empty, firstPauseMs(longest), 2, longest, 0.25)
  }

  /** Whether pauses have grown to the longest. From now on the node's look at all its topics may end them. */
  get isIdle(): boolean {
    const { look, idleMs } = this.#options.settings
    const longest = idleMs()
    return look.isAble && firstPauseMs(longest) * 2 ** (this.#empty - 1) >= longest
  }

  /** Sleeps as the wake-up does, and rests meanwhile if it is long. */
  async alone(version: number, ms: number): Promise<void> {
    const { settings, wake, held } = this.#options
    let left = ms
    while (left > 0 && version === wake.version) {
      const restAfterMs = settings.limits.restAfterMs(held())
      if (restAfterMs === 0) await this.rest()
      const slice = restAfterMs === 0 ? left : Math.min(left, restAfterMs)
      await wake.sleep(version, slice)
      left -= slice
    }
  }

  /**
   * Sleeps until the node's look at all its topics finds something to do here, a task is due, it is time to reclaim, or a wake-up comes.
   *
   * @param dueAtMs when a task is due, by the clock; infinite if none is
   * @returns the same, as it is known after the sleep
   */
  async withOthers(version: number, dueAtMs: number): Promise<number> {
    const { settings, environment, wake, held } = this.#options
    const { limits, look, idleMs, leftovers } = settings
    const { clock, topic } = environment
    const dueMs = (): number => Math.max(0, dueAtMs - clock.monotonicMs())
    const restAfterMs = limits.restAfterMs(held())
    if (restAfterMs < Infinity) {
      await wake.sleep(version, Math.min(restAfterMs, dueMs()))
      if (version !== wake.version || dueMs() === 0) return dueAtMs
      await this.rest()
    }
    const leave = look.join({ topic, idleMs, dueMs: dueMs(), wake: () => wake.wake() })
    // A look sees no task that a lost poll has taken: the loop reclaims it.
    await wake.sleep(version, leftovers.doubtMs(topic))
    return leave()
  }

  /** Others get the slots that the loop does not use. @param isRefused whether the database has refused a poll, which then took nothing */
  async rest(isRefused = false): Promise<void> {
    const { settings, environment, polling, held } = this.#options
    const { lease, leftovers, limits } = settings
    // Tasks that nobody knows of have slots too.
    if (!lease.holds || (!isRefused && leftovers.isOpen(environment.topic))) return
    try {
      await limits.rest(held())
    } catch (error) {
      polling.failed(error)
    }
  }
}

/** Pauses begin short, as tasks often come together, and longer ones begin longer. */
function firstPauseMs(longest: number): number {
  return Math.min(Math.max(longest / 200, 5), 150)
}
