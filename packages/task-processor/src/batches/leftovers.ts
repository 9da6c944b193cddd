import { isPassing, isTaskError } from '@taskstream/task-api'
import type { Execution, HeldTask, TaskRepository } from '@taskstream/task-api'
import type { Clock } from '../core/clock.ts'
import { Completing } from './completing.ts'
import type { Dispatcher } from '../core/dispatcher.ts'
import { Condition } from '../core/listener.ts'
import type { SafeListener } from '../core/listener.ts'
import { Patience } from '../core/patience.ts'
import { pauseMs } from '../core/retry-policy.ts'

export interface LeftoversOptions<Transaction> {
  readonly repository: TaskRepository<Transaction, Execution>
  readonly dispatcher: Dispatcher<Transaction>
  readonly listener: SafeListener
  readonly clock: Clock
}

/** What nobody knows of, and cannot be written, is looked for so often. */
const reclaimEveryMs = 10_000

/** What waited for a lock may be committed long after it was given up: what comes so much later is found as much later again. */
const firstDoubtMs = 1_000
const longestDoubtMs = 600_000

/** That this owner holds tasks of a topic which nobody knows of. */
interface Doubt {
  askAtMs: number
  pauseMs: number
}

/** What is left of a topic. */
interface Left {
  readonly tasks: Set<HeldTask>
  readonly condition: Condition
  failures: number
  nextAtMs: number
  trying?: Promise<void> | undefined
}

/**
 * Tasks that this owner holds and no batch answers for any more: its living heart would keep them from everybody. They are handed back as soon
 * as that can be written, by whoever polls the topic, or else by maintenance.
 */
export class Leftovers<Transaction> {
  readonly #options: LeftoversOptions<Transaction>
  readonly #left: Map<string, Left> = new Map()
  readonly #returned: WeakSet<HeldTask> = new WeakSet()
  /** Topics where a poll went unanswered: it may have been committed, or will be. */
  readonly #doubts: Map<string, Doubt> = new Map()
  /** How many loops poll a topic: a former one may still wait for its last poll. */
  readonly #polled: Map<string, number> = new Map()
  /** The last time that a topic's were looked for by the node itself. */
  readonly #reclaiming: Map<string, Promise<void>> = new Map()

  constructor(options: LeftoversOptions<Transaction>) {
    this.#options = options
  }

  /** A loop is about to poll: from now on nothing is reclaimed but by itself. */
  async enter(topic: string): Promise<void> {
    this.#polled.set(topic, (this.#polled.get(topic) ?? 0) + 1)
    await this.#reclaiming.get(topic)?.catch(() => {})
  }

  /** That loop polls no more. */
  leave(topic: string): void {
    const others = this.#polled.get(topic)! - 1
    if (others > 0) this.#polled.set(topic, others)
    else this.#polled.delete(topic)
  }

  /** These tasks could be neither completed nor handed back. */
  add(topic: string, tasks: readonly HeldTask[]): void {
    if (tasks.length === 0) return
    const condition = new Condition(this.#options.listener, 'complete', topic)
    // mutants: equivalent `nextAtMs: 0`, it is set below
    const left: Left = this.#left.get(topic) ?? { tasks: new Set(), condition, failures: 0, nextAtMs: 0 }
    for (const task of tasks) left.tasks.add(task)
    this.#left.set(topic, left)
    this.#pause(left)
  }

  /** A poll went unanswered. */
  doubt(topic: string): void {
    this.#doubts.set(topic, { askAtMs: this.#options.clock.monotonicMs(), pauseMs: firstDoubtMs })
  }

  /** Whether it is time to ask what is held of the topic. */
  isDoubted(topic: string): boolean {
    const doubt = this.#doubts.get(topic)
    return doubt !== undefined && doubt.askAtMs <= this.#options.clock.monotonicMs()
  }

  of(topic: string): readonly HeldTask[] {
    return [...(this.#left.get(topic)?.tasks ?? [])]
  }

  wasReturned(task: HeldTask): boolean {
    return this.#returned.has(task)
  }

  /** How long to wait before it is worth trying again; for ever, if there is nothing to be tried. */
  pauseMs(topic: string): number {
    const left = this.#left.get(topic)
    return left ? Math.max(0, left.nextAtMs - this.#options.clock.monotonicMs()) : Infinity
  }

  /** Hands back what is left of a topic. The fence keeps it from what was polled since; never rejects. */
  async handBack(topic: string): Promise<void> {
    const left = this.#left.get(topic)
    if (!left) return
    left.trying ??= this.#handBack(topic, left).finally(() => (left.trying = undefined))
    await left.trying
  }

  /**
   * Makes ready whatever this owner holds in a topic beside `known` and what is known to be left: when nobody else polls it for this owner.
   *
   * @throws what the database throws: it is asked again a little later
   */
  async reclaim(topic: string, known: readonly HeldTask[]): Promise<void> {
    const { dispatcher, repository, clock } = this.#options
    const doubt = this.#doubts.get(topic)
    const ask = (ms: number): void => void (doubt && (doubt.askAtMs = clock.monotonicMs() + ms))
    // One at a time.
    ask(longestDoubtMs)
    try {
      const all = [...known, ...this.of(topic)]
      await dispatcher.once<number>((transaction) => repository.reclaim(transaction, topic, all))
    } catch (error) {
      ask(isPassing(error) && !isTaskError(error, 'DATABASE_BUSY') ? 0 : reclaimEveryMs)
      throw error
    }
    if (!doubt) return
    ask(doubt.pauseMs)
    doubt.pauseMs = Math.min(2 * doubt.pauseMs, longestDoubtMs)
  }

  /** Does what is to be done of its own accord. @throws what the database throws */
  async tidy(): Promise<void> {
    for (const topic of this.#left.keys()) await this.handBack(topic)
    for (const topic of this.#doubts.keys()) {
      if (this.#polled.has(topic) || !this.isDoubted(topic)) continue
      // Once: somebody may poll it with the same repository who is not known here.
      const reclaiming = this.reclaim(topic, []).then(() => void this.#doubts.delete(topic))
      this.#reclaiming.set(topic, reclaiming)
      await reclaiming
    }
  }

  async #handBack(topic: string, left: Left): Promise<void> {
    const tasks = [...left.tasks]
    // Told once, however often it is tried.
    const listener = { ...this.#options.listener, onError: ({ error }: { error: unknown }) => left.condition.failed(error) }
    // mutants: equivalent `retry: undefined`, what is handed back is not tried by a policy
    const completing = new Completing({ ...this.#options, listener, topic, retry: undefined }, { event: { topic, tasks } }, false)
    const once = new Patience(this.#options.clock)
    once.end()
    await completing.handBack(tasks, once)
    const still = new Set(completing.undecided)
    for (const task of tasks) if (!still.has(task)) left.tasks.delete(task)
    for (const task of completing.returned) this.#returned.add(task)
    if (left.tasks.size > 0) return this.#pause(left)
    left.condition.worked()
    this.#left.delete(topic)
  }

  #pause(left: Left): void {
    left.nextAtMs = this.#options.clock.monotonicMs() + pauseMs(++left.failures, 100, 2, 10_000, 0.5)
  }
}
