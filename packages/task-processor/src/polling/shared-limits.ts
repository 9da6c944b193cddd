import { isPassing } from '@taskstream/task-api'
import type { Execution, HeldTask, SlotGrant, TaskRepository, TokenGrant, TopicLimits } from '@taskstream/task-api'
import type { Clock } from '../core/clock.ts'
import type { Dispatcher } from '../core/dispatcher.ts'

export interface SharedLimitsOptions<Transaction> {
  readonly topic: string
  readonly repository: Pick<TaskRepository<Transaction, Execution>, 'takeSlots' | 'holdSlots' | 'takeTokens' | 'giveTokens'>
  readonly dispatcher: Dispatcher<Transaction>
  readonly clock: Pick<Clock, 'monotonicMs'>
}

type Poll<Transaction> = (transaction: Transaction, size: number) => HeldTask[] | Promise<HeldTask[]>

/** How often a loop that polls renews its slots, so that others who want some get theirs. */
const renewMs = 1_000
/** How soon a loop asks for slots that it did not get. It asks less and less often, as there may be nothing to do for anybody. */
const askMs = 250

/** What a loop may poll under the limits that all processes keep together. A topic without limits asks the database nothing. */
export class SharedLimits<Transaction> {
  readonly #options: SharedLimitsOptions<Transaction>
  #limits: TopicLimits = {}
  /** How many tasks this process may hold, as it was last told, and how many it had wanted then. */
  #slots = 0
  #wanted = 0
  #askAtMs = -Infinity
  /** How long to wait before slots are asked for that this process did not get. */
  #patienceMs = askMs
  /** Whether a question was not answered, so that the database may have given this process other slots than it knows of. */
  #unsure = false
  /** The last question. The next one follows its answer, as the database knows only the slots of the last. */
  #asked: Promise<unknown> = Promise.resolve()
  #nextTokenAtMs = -Infinity

  constructor(options: SharedLimitsOptions<Transaction>) {
    this.#options = options
  }

  /** Notes the limits that the topic has now. */
  set(limits: TopicLimits = {}): void {
    // A limit that changes is felt at once.
    if (limits.total !== this.#limits.total) this.#askAtMs = -Infinity
    if (!limits.rate) this.#nextTokenAtMs = -Infinity
    this.#limits = limits
  }

  /** Whether there is any limit. */
  get hasAny(): boolean {
    return this.#limits.total !== undefined || this.#limits.rate !== undefined
  }

  /** Whether tasks need slots. */
  get hasTotal(): boolean {
    return this.#limits.total !== undefined
  }

  /**
   * How many more tasks may be polled, at most `most`.
   *
   * @param held how many tasks of the topic this process holds
   * @throws the error of the database
   */
  async room(held: number, most: number): Promise<number> {
    const { clock } = this.#options
    const { total, rate } = this.#limits
    if (rate && clock.monotonicMs() < this.#nextTokenAtMs) return 0
    if (total === undefined) return most
    const wanted = held + most
    await this.#inTurn(async () => {
      const wantsMore = wanted > this.#slots && wanted > this.#wanted
      if (wantsMore || clock.monotonicMs() >= this.#askAtMs) await this.#take(held, wanted)
    })
    return Math.max(0, Math.min(most, this.#slots - held))
  }

  /** How long to sleep after a poll that brought nothing, or was not made, in milliseconds: at most a second. Infinite if no limit was in the way. */
  pauseMs(held: number): number {
    const { clock } = this.#options
    const { total, rate } = this.#limits
    const nowMs = clock.monotonicMs()
    const tokenMs = rate && this.#nextTokenAtMs > nowMs ? this.#nextTokenAtMs - nowMs : Infinity
    const isFull = total !== undefined && this.#slots < this.#wanted && this.#slots <= held
    const slotMs = isFull ? Math.max(1, this.#askAtMs - nowMs) : Infinity
    return Math.min(tokenMs, slotMs)
  }

  /**
   * Polls what is paid for. The poll comes first in its transaction: one that has written or locked anything before does not learn how far the topic is done,
   * and would read ever more of its history. What is paid for is lost if this process dies before it polls, which makes the topic slower for a moment.
   *
   * @param options for a poll that no transaction has to hold together with anything else
   */
  async poll(size: number, poll: Poll<Transaction>, options: { readonly single: boolean }): Promise<HeldTask[]> {
    const paid = await this.take(size)
    if (paid === 0) return []
    let tasks: HeldTask[]
    try {
      tasks = this.hasTotal
        ? await this.#pollHolding(paid, poll)
        : await this.#options.dispatcher.once<HeldTask[]>((transaction) => poll(transaction, paid), options)
    } catch (error) {
      // Nobody knows what a poll that was not answered has taken. One that was refused has taken nothing.
      if (!isPassing(error)) await this.give(paid).catch(() => {})
      throw error
    }
    // Nobody waits for a token where there were fewer tasks than tokens.
    if (tasks.length < paid) this.#nextTokenAtMs = -Infinity
    // The tasks are held by now, and tokens that are not given back only make the topic slower.
    await this.give(paid - tasks.length).catch(() => {})
    return tasks
  }

  /** Polls, and takes nothing if others have the slots by now: this process may have been stopped for long since it was given them. */
  async #pollHolding(size: number, poll: Poll<Transaction>): Promise<HeldTask[]> {
    const { topic, repository, dispatcher } = this.#options
    let isLost = false
    try {
      return await dispatcher.once<HeldTask[]>(async (transaction) => {
        const tasks = await poll(transaction, size)
        isLost = tasks.length > 0 && !(await repository.holdSlots(transaction, topic))
        if (isLost) throw new Error('others have the slots')
        return tasks
      })
    } catch (error) {
      // A library may have made another error of it.
      if (!isLost) throw error
      this.#slots = 0
      this.#askAtMs = -Infinity
      return []
    }
  }

  /** Pays for a poll, in a transaction of its own: nobody waits for one that stays open while its tasks are handled. @returns what is paid for */
  async take(size: number): Promise<number> {
    const { topic, repository, dispatcher } = this.#options
    if (!this.#limits.rate) return size
    const grant = await dispatcher.once<TokenGrant>((transaction) => repository.takeTokens(transaction, topic, size))
    this.#wait(grant)
    return grant.taken
  }

  /** Gives back what was paid for, and not polled. */
  async give(count: number): Promise<void> {
    const { topic, repository, dispatcher } = this.#options
    if (this.#limits.rate && count > 0)
      await dispatcher.once<void>((transaction) => repository.giveTokens(transaction, topic, count))
  }

  /**
   * Gives back all slots but those of tasks that are still held, and wants no more: none are kept for it.
   *
   * @param held how many those are, asked when it is this question's turn; undefined if a loop uses the slots again
   * @throws the error of the database
   */
  leave(held: () => number | undefined): Promise<void> {
    return this.#inTurn(async () => {
      const still = held()
      if (still !== undefined && (this.#unsure || Math.max(this.#slots, this.#wanted) > still)) await this.#take(still, still)
    })
  }

  /** After how many milliseconds a loop that does not poll meanwhile is to rest. Infinite if it has no slots beside those of its tasks. */
  restAfterMs(held: number): number {
    if (this.#limits.total === undefined || this.#slots <= held) return Infinity
    return Math.max(0, this.#askAtMs - this.#options.clock.monotonicMs())
  }

  /** Gives back what a loop does not use. @throws the error of the database */
  async rest(held: number): Promise<void> {
    if (this.restAfterMs(held) < Infinity) await this.#inTurn(() => this.#take(held, held))
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#asked.then(work)
    this.#asked = turn.catch(() => {})
    return turn
  }

  async #take(held: number, wanted: number): Promise<void> {
    const { topic, repository, dispatcher, clock } = this.#options
    const askedMs = clock.monotonicMs()
    // If no answer comes, others may have been given all but what is held.
    this.#slots = Math.min(this.#slots, held)
    this.#askAtMs = -Infinity
    this.#unsure = true
    const { slots = Infinity } = await dispatcher.once<SlotGrant>((transaction) =>
      repository.takeSlots(transaction, topic, { held, wanted }),
    )
    this.#unsure = false
    this.#slots = slots
    this.#wanted = wanted
    const isInVain = slots < wanted && slots <= held
    if (!isInVain) this.#patienceMs = askMs
    this.#askAtMs = askedMs + (slots < wanted ? this.#patienceMs : renewMs)
    if (isInVain) this.#patienceMs = Math.min(this.#patienceMs * 2, renewMs)
  }

  /** Notes when to ask for the next token: when it is there, but within a second, as the rate may be raised, or others may give tokens back. */
  #wait({ nextMs }: TokenGrant): void {
    this.#nextTokenAtMs = nextMs === undefined ? -Infinity : this.#options.clock.monotonicMs() + Math.min(nextMs, renewMs)
  }
}
