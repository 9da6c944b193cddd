import type { Execution, PeekedTopic, TaskRepository } from '@taskstream/task-api'
import { isPassing } from '@taskstream/task-api'
import type { Clock } from '../core/clock.ts'
import type { Dispatcher } from '../core/dispatcher.ts'
import { Condition } from '../core/listener.ts'
import type { SafeListener } from '../core/listener.ts'

export interface SharedLookOptions<Transaction> {
  readonly repository: Pick<TaskRepository<Transaction, Execution>, 'peek'>
  readonly dispatcher: Dispatcher<Transaction>
  readonly listener: SafeListener
  readonly clock: Clock
}

/** How a loop sleeps. */
export interface Sleep {
  readonly topic: string
  /** The longest pause between two looks, in milliseconds. A notifier that comes or goes changes it. */
  readonly idleMs: () => number
  /** In how many milliseconds a task is due, as far as is known; infinite if none is. */
  readonly dueMs: number
  /** Ends the sleep, as the loop has something to do. */
  readonly wake: () => void
}

/** A loop that sleeps. */
interface Sleeper extends Sleep {
  /** When its topic is to be looked at. */
  lookAtMs: number
  /** When a task is due. */
  dueAtMs: number
}

/** How many topics one transaction looks at. */
const portion = 1_000

/**
 * For how long loops wait for the answer to a look. One topic may keep it waiting, as somebody may have locked its partition, and the others are not to wait
 * with it: then each polls by itself.
 */
const patienceMs = 1_000

/** How much pauses between looks differ, so that nodes that were started together do not look together for ever. */
const jitter = 0.25

/**
 * One look at all topics of a node at which nothing happens, instead of a poll of each. A loop that has found nothing for a while sleeps here. When the pause
 * of one of them is over, the node asks about all that have slept for half of theirs. So they come together, and a thousand topics cost no more than one.
 *
 * A look finds out whether there may be something to do, and wakes those loops. It overlooks nothing that a poll would find. When it fails, or takes long,
 * every loop polls by itself, reports what fails, and pauses, as if there were no looks.
 */
export class SharedLook<Transaction> {
  readonly #options: SharedLookOptions<Transaction>
  readonly #condition: Condition
  readonly #sleepers: Set<Sleeper> = new Set()
  #isLooking = false
  #ringsAtMs = Infinity
  #cancel = (): void => {}

  constructor(options: SharedLookOptions<Transaction>) {
    this.#options = options
    this.#condition = new Condition(options.listener, 'poll')
  }

  /** Whether the repository can look at several topics. One of a test, or of an adapter of one's own, may not. */
  get isAble(): boolean {
    return typeof (this.#options.repository as { readonly peek?: unknown }).peek === 'function'
  }

  /** Notes that a loop sleeps. @returns a function that ends this, and tells when the next task is due, by the clock */
  join(sleep: Sleep): () => number {
    const nowMs = this.#options.clock.monotonicMs()
    const sleeper = { ...sleep, lookAtMs: nowMs + pauseOf(sleep, Math.random()), dueAtMs: nowMs + sleep.dueMs }
    this.#sleepers.add(sleeper)
    this.#ringFor(sleeper)
    return () => {
      this.#sleepers.delete(sleeper)
      if (this.#sleepers.size === 0) this.#ringAt(Infinity)
      return sleeper.dueAtMs
    }
  }

  #ringFor({ lookAtMs, dueAtMs }: Sleeper): void {
    this.#ringAt(Math.min(this.#ringsAtMs, lookAtMs, dueAtMs))
  }

  #ringAt(atMs: number): void {
    if (atMs === this.#ringsAtMs) return
    this.#cancel()
    this.#ringsAtMs = atMs
    const { clock } = this.#options
    this.#cancel = atMs === Infinity ? () => {} : clock.after(Math.max(0, atMs - clock.monotonicMs()), () => this.#ring())
  }

  #ring(): void {
    this.#ringsAtMs = Infinity
    const nowMs = this.#options.clock.monotonicMs()
    let isTime = false
    for (const sleeper of this.#sleepers) {
      if (sleeper.dueAtMs <= nowMs) this.#wake(sleeper)
      else if (sleeper.lookAtMs <= nowMs) isTime = true
    }
    if (isTime) this.#begin(nowMs)
    for (const sleeper of this.#sleepers) this.#ringFor(sleeper)
  }

  #begin(nowMs: number): void {
    // The answer is late already: who should look now does so alone.
    if (this.#isLooking) return this.#wakeAll([...this.#sleepers].filter(({ lookAtMs }) => lookAtMs <= nowMs))
    const asked = [...this.#sleepers].filter(({ lookAtMs, idleMs }) => lookAtMs <= nowMs + idleMs() / 2)
    const draw = Math.random()
    // Those who still sleep then have not been told anything.
    for (const sleeper of asked) sleeper.lookAtMs = nowMs + pauseOf(sleeper, draw)
    void this.#look(asked)
  }

  /** Never rejects. */
  async #look(asked: readonly Sleeper[]): Promise<void> {
    const { clock } = this.#options
    this.#isLooking = true
    const giveUp = clock.after(patienceMs, () => this.#wakeAll(asked))
    try {
      for (let from = 0; from < asked.length; from += portion) await this.#ask(asked.slice(from, from + portion))
      this.#condition.worked()
    } catch (error) {
      // Polls fail in the same way, and say so.
      if (!isPassing(error)) this.#condition.failed(error)
      this.#wakeAll(asked)
    } finally {
      giveUp()
      this.#isLooking = false
    }
  }

  async #ask(asked: readonly Sleeper[]): Promise<void> {
    const { repository, dispatcher } = this.#options
    const topics = asked.map(({ topic }) => topic)
    const found = await dispatcher.once<ReadonlyMap<string, PeekedTopic>>((transaction) => repository.peek(transaction, topics), {
      single: true,
    })
    // Due times count from the answer: a task that is promoted too early is not due yet.
    const nowMs = this.#options.clock.monotonicMs()
    for (const sleeper of asked) {
      const seen = found.get(sleeper.topic)
      if (seen) sleeper.dueAtMs = seen.blocked ? nowMs : nowMs + (seen.nextDueMs ?? Infinity)
      // Of a topic that is no longer there, a poll says so.
      if (!seen || seen.ready || sleeper.dueAtMs <= nowMs) this.#wake(sleeper)
      else if (this.#sleepers.has(sleeper)) this.#ringFor(sleeper)
    }
  }

  #wakeAll(sleepers: readonly Sleeper[]): void {
    for (const sleeper of sleepers) this.#wake(sleeper)
  }

  /** Wakes a loop that still sleeps. Another sleep of its is another sleeper. */
  #wake(sleeper: Sleeper): void {
    if (this.#sleepers.delete(sleeper)) sleeper.wake()
  }
}

function pauseOf({ idleMs }: Sleep, draw: number): number {
  return idleMs() * (1 - jitter * draw)
}
