import type { Clock } from '../core/clock.ts'
import { HeldAhead, mostAhead } from './held-ahead.ts'
import { unlimited } from './limiter.ts'
import type { HungHandlers } from '../core/hung-handlers.ts'
import type { PollSettings } from './poll-settings.ts'

/** What a loop holds of its topic. */
interface Holding {
  /** Batches that are held. */
  readonly batches: { readonly size: number }
  readonly hung: HungHandlers
  /** Whether the topic is plain, as far as is known. */
  readonly isPlain: boolean
}

export interface PollRoomOptions<Transaction> {
  readonly clock: Clock
  readonly settings: PollSettings<Transaction>
  readonly holding: () => Holding
  /** Called when there may be room again. */
  readonly onRoom: () => void
}

/** How many batches the next poll may bring. */
export class PollRoom<Transaction> {
  /** Begins leased batches, and has others wait, if batches may be held ahead. */
  readonly heldAhead: HeldAhead | undefined
  readonly #options: PollRoomOptions<Transaction>
  /**
   * How many batches the next poll asks for. The number doubles while polls come back full. It begins small, as many processes may be woken for a few
   * tasks, which should be shared.
   */
  #step = 1
  /** Whether the loop waits for room. */
  #isFull = false

  constructor(options: PollRoomOptions<Transaction>) {
    const { clock, settings, onRoom } = options
    this.#options = options
    const { mode, mayHoldAhead, limiter, concurrency } = settings
    const { size } = settings.poll
    // Of large batches two are as many tasks as are held ahead.
    if (mode === 'leased' && mayHoldAhead && limiter === unlimited && size * concurrency < mostAhead)
      this.heldAhead = new HeldAhead({
        clock,
        size,
        concurrency: () => settings.concurrency,
        onRoom: () => this.#isFull && this.isThere() && onRoom(),
      })
  }

  /**
   * Where batches are held ahead, if they may be. Tasks with an order are not polled before their turn, and tasks with a limit not before they are
   * handled.
   */
  get #ahead(): HeldAhead | undefined {
    const { settings, holding } = this.#options
    return holding().isPlain && !settings.limits.hasAny ? this.heldAhead : undefined
  }

  /** Whether there is room for a batch. */
  isThere(): boolean {
    const { concurrency } = this.#options.settings
    const { batches, hung } = this.#options.holding()
    const isThere = !hung.isFull && (this.#ahead?.mayPoll ?? batches.size < concurrency)
    this.#isFull = !isThere
    return isThere
  }

  /** How many batches the next poll may bring: one at least. */
  batchesAtOnce(): number {
    const { concurrency, limiter, mode, poll } = this.#options.settings
    const { batches, hung } = this.#options.holding()
    // A slot of the limiter, or a transaction, is for one batch. Several batches come by one poll, as a poll costs more than most of its rows.
    if (limiter !== unlimited || mode === 'transactional') return 1
    const room = this.#ahead ? Math.floor(this.#ahead.room / poll.size) : concurrency - Math.max(batches.size, hung.batches)
    return Math.max(1, Math.min(this.#step, room, Math.floor(mostAhead / poll.size)))
  }

  /** Notes that a poll was answered. */
  polled(found: number, asked: number): void {
    this.#step = found === asked ? Math.min(this.#step * 2, mostAhead) : 1
  }
}
