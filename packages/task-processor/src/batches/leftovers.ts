import { isPassing, isTaskError } from '@taskstream/task-api'
import type { Execution, HeldTask, TaskRepository } from '@taskstream/task-api'
import { within } from '../core/clock.ts'
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

/** The pause after a `reclaim` that failed, as the database refused it or was busy. */
const reclaimEveryMs = 10_000

const never = new Promise<void>(() => {})

/** A poll that was given up while it waited for a lock may be committed much later. The pauses between `reclaim`s therefore double. */
const firstDoubtMs = 1_000
const longestDoubtMs = 600_000

/** Says that this owner may hold tasks of a topic without knowing them, and when to ask the database. */
interface Doubt {
  askAtMs: number
  pauseMs: number
  /** Whether the database could not be asked since. */
  isOpen: boolean
}

/** The left-over tasks of a topic. */
interface Left {
  readonly tasks: Set<HeldTask>
  readonly condition: Condition
  failures: number
  nextAtMs: number
  trying?: Promise<void> | undefined
}

/**
 * Tasks that this owner holds although no batch has them any more. The owner's heartbeat would keep them from everybody else. The loop that polls the
 * topic hands them back as soon as the database allows; if no loop polls the topic, maintenance does.
 */
export class Leftovers<Transaction> {
  readonly #options: LeftoversOptions<Transaction>
  readonly #left: Map<string, Left> = new Map()
  readonly #returned: WeakSet<HeldTask> = new WeakSet()
  /** Topics of which a poll was not answered. Such a poll may have been committed, or may be later. */
  readonly #doubts: Map<string, Doubt> = new Map()
  /** How many loops poll a topic. There may be two, as a stopped loop may still wait for its last poll. */
  readonly #polled: Map<string, number> = new Map()
  /** The last `reclaim` of a topic that maintenance has begun. */
  readonly #reclaiming: Map<string, Promise<void>> = new Map()

  constructor(options: LeftoversOptions<Transaction>) {
    this.#options = options
  }

  /** Notes that a loop is about to poll a topic, so that maintenance reclaims nothing there. Waits for a `reclaim` under way. */
  async enter(topic: string): Promise<void> {
    this.#polled.set(topic, (this.#polled.get(topic) ?? 0) + 1)
    await this.#reclaiming.get(topic)?.catch(() => {})
  }

  /** Notes that a loop no longer polls the topic. */
  leave(topic: string): void {
    const others = this.#polled.get(topic)! - 1
    if (others > 0) this.#polled.set(topic, others)
    else this.#polled.delete(topic)
  }

  /** Adds tasks that could be neither completed nor handed back. */
  add(topic: string, tasks: readonly HeldTask[]): void {
    if (tasks.length === 0) return
    const condition = new Condition(this.#options.listener, 'complete', topic)
    // mutants: equivalent `nextAtMs: 0`, the call of #pause below sets it
    const left: Left = this.#left.get(topic) ?? { tasks: new Set(), condition, failures: 0, nextAtMs: 0 }
    for (const task of tasks) left.tasks.add(task)
    this.#left.set(topic, left)
    this.#pause(left)
  }

  /** Forgets tasks that their batch has written after all, as its statement was only late. */
  forget(topic: string, tasks: Iterable<HeldTask>): void {
    const left = this.#left.get(topic)
    if (!left) return
    for (const task of tasks) left.tasks.delete(task)
    this.#end(topic, left)
  }

  /** Notes that a poll was not answered. */
  doubt(topic: string): void {
    this.#doubts.set(topic, { askAtMs: this.#options.clock.monotonicMs(), pauseMs: firstDoubtMs, isOpen: true })
  }

  /** Notes that the database was put back to an earlier moment, at which this owner may have held other tasks. */
  doubtAll(): void {
    for (const topic of this.#polled.keys()) this.doubt(topic)
  }

  /** Whether it is time to reclaim tasks of the topic. @param isUrgent whether that cannot wait: each task that is held counts */
  isDoubted(topic: string, isUrgent = false): boolean {
    const doubt = this.#doubts.get(topic)
    return doubt !== undefined && ((isUrgent && doubt.isOpen) || doubt.askAtMs <= this.#options.clock.monotonicMs())
  }

  /** How long until it is time to reclaim tasks of the topic, in milliseconds. Infinite if there is no doubt. */
  doubtMs(topic: string): number {
    const doubt = this.#doubts.get(topic)
    return doubt ? Math.max(0, doubt.askAtMs - this.#options.clock.monotonicMs()) : Infinity
  }

  /** Whether this owner may hold tasks of the topic without knowing them, and the database could not be asked yet. */
  isOpen(topic: string): boolean {
    return this.#doubts.get(topic)?.isOpen === true
  }

  of(topic: string): readonly HeldTask[] {
    return [...(this.#left.get(topic)?.tasks ?? [])]
  }

  wasReturned(task: HeldTask): boolean {
    return this.#returned.has(task)
  }

  /** The pause until the next attempt, in milliseconds. Infinite if no task is left. */
  pauseMs(topic: string): number {
    const left = this.#left.get(topic)
    return left ? Math.max(0, left.nextAtMs - this.#options.clock.monotonicMs()) : Infinity
  }

  /** Hands back the left-over tasks of a topic; never rejects. Tasks that were polled again since are refused by their attempt. */
  async handBack(topic: string): Promise<void> {
    const left = this.#left.get(topic)
    if (!left) return
    left.trying ??= this.#handBack(topic, left).finally(() => (left.trying = undefined))
    await left.trying
  }

  /**
   * Makes ready all tasks that this owner holds in a topic, except `known` and the left-over tasks. Nobody else may poll the topic for this owner.
   *
   * @throws the error of the database. The topic is due again a little later
   */
  async reclaim(topic: string, known: readonly HeldTask[]): Promise<void> {
    const { dispatcher, repository, clock } = this.#options
    const doubt = this.#doubts.get(topic)
    const ask = (ms: number): void => void (doubt && (doubt.askAtMs = clock.monotonicMs() + ms))
    // Postponed, so that no second `reclaim` begins meanwhile.
    ask(longestDoubtMs)
    try {
      const all = [...known, ...this.of(topic)]
      const portion = (): Promise<number> => dispatcher.once<number>((transaction) => repository.reclaim(transaction, topic, all))
      // After a portion some may be left: others have locked them, or they were too many for one transaction.
      while ((await portion()) > 0);
    } catch (error) {
      // What the database refuses now it refuses later too.
      if (doubt && !isPassing(error)) doubt.isOpen = false
      ask(isPassing(error) && !isTaskError(error, 'DATABASE_BUSY') ? 0 : reclaimEveryMs)
      throw error
    }
    if (!doubt) return
    doubt.isOpen = false
    ask(doubt.pauseMs)
    doubt.pauseMs = Math.min(2 * doubt.pauseMs, longestDoubtMs)
  }

  /**
   * Makes ready what polls that were not answered may have taken, after the last poll of a loop that ends; never rejects. Another loop waits for that. If
   * the database refuses, maintenance goes on.
   *
   * @param known the tasks that are still at work
   * @param isOver whether nobody waits any longer for a database that is busy
   */
  async settle(topic: string, known: readonly HeldTask[], isOver: () => boolean = () => true): Promise<void> {
    if (!this.#doubts.has(topic)) return
    const { clock, listener } = this.#options
    for (let failures = 0; ; await within(clock, pauseMs(failures, 50, 2, 1_000, 0.5), never)) {
      try {
        return await this.#reclaimOnce(topic, known)
      } catch (error) {
        if (failures++ === 0) listener.onError({ activity: 'poll', topic, error })
        if (!isTaskError(error, 'DATABASE_BUSY') || isOver()) return
      }
    }
  }

  /** Reclaims for a topic that no loop polls any more. This is done once only, as other code may poll it with the same repository. */
  #reclaimOnce(topic: string, known: readonly HeldTask[]): Promise<void> {
    const reclaiming = this.reclaim(topic, known).then(() => void this.#doubts.delete(topic))
    this.#reclaiming.set(topic, reclaiming)
    return reclaiming
  }

  /** Hands back all left-over tasks, and reclaims tasks of topics that no loop polls. @throws the error of the database */
  async tidy(): Promise<void> {
    for (const topic of this.#left.keys()) await this.handBack(topic)
    for (const topic of this.#doubts.keys()) {
      if (this.#polled.has(topic) || !this.isDoubted(topic)) continue
      await this.#reclaimOnce(topic, [])
    }
  }

  async #handBack(topic: string, left: Left): Promise<void> {
    const tasks = [...left.tasks]
    // The condition reports the failure once, however often the hand-back is tried.
    const listener = { ...this.#options.listener, onError: ({ error }: { error: unknown }) => left.condition.failed(error) }
    // mutants: equivalent `retry: undefined`, a hand-back asks no retry policy
    const completing = new Completing({ ...this.#options, listener, topic, retry: undefined }, { event: { topic, tasks } }, false)
    const once = new Patience(this.#options.clock)
    once.end()
    await completing.handBack(tasks, once)
    const still = new Set(completing.undecided)
    for (const task of tasks) if (!still.has(task)) left.tasks.delete(task)
    for (const task of completing.returned) this.#returned.add(task)
    if (left.tasks.size > 0) return this.#pause(left)
    this.#end(topic, left)
  }

  #end(topic: string, left: Left): void {
    if (left.tasks.size > 0 || this.#left.get(topic) !== left) return
    left.condition.worked()
    this.#left.delete(topic)
  }

  #pause(left: Left): void {
    left.nextAtMs = this.#options.clock.monotonicMs() + pauseMs(++left.failures, 100, 2, 10_000, 0.5)
  }
}
