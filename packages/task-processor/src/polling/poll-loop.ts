import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { isPassing, isTaskError } from '@taskstream/task-api'
import type { HeldTask, PollOptions, PromotedDue } from '@taskstream/task-api'
import type { Batch, BatchEnvironment } from '../batches/batch.ts'
import { LeasedBatch } from '../batches/leased-batch.ts'
import type { Leftovers } from '../batches/leftovers.ts'
import { unlimited } from './limiter.ts'
import type { TaskLimiter } from './limiter.ts'
import { Condition } from '../core/listener.ts'
import { pauseMs } from '../core/retry-policy.ts'
import { TransactionalBatch } from '../batches/transactional-batch.ts'
import { Wake } from './wake.ts'

/** How a topic is polled. */
export interface PollSettings<Transaction> {
  readonly poll: PollOptions & { readonly size: number }
  readonly mode: 'leased' | 'transactional'
  readonly concurrency: number
  readonly idleMs: () => number
  readonly limiter: TaskLimiter
  /** Of the owner: without it nothing is polled. */
  readonly lease: { readonly holds: boolean }
  /** What batches have left behind. */
  readonly leftovers: Leftovers<Transaction>
  /** The loop has ended by itself, and will not go on. */
  readonly onFatal: (error: unknown) => void
}

/** Small batches are polled several at a time, of so many tasks at most: a poll costs the database more than most of its rows. */
const polledAtOnce = 100

/** Due tasks are looked for at least so often, however busy the topic is. */
const promoteEveryMs = 1_000

/** The only loop, and the only place that sleeps. Polls ahead while earlier batches are handled, and never more than it may hold. */
export class PollLoop<Transaction> {
  readonly batches: Set<Batch> = new Set()
  /** Handlers that were given up, and run on: as many are put up with as there may be batches. */
  readonly #stuck: Set<Batch> = new Set()
  readonly #environment: BatchEnvironment<Transaction>
  readonly #settings: PollSettings<Transaction>
  readonly #wake: Wake
  readonly #polling: Condition
  readonly #draining = new AbortController()
  /**
   * So many tasks are to be taken by a lease, where tries count, before transactions are trusted again: after a start, as the process
   * may have died of one of them, and after a transaction that was rolled back.
   */
  #careful: number
  /** Whether the topic has no order but fifo and no condition, for all that is known. */
  #plain: boolean
  #empty = 0
  /**
   * Batches to be polled at once. More each time, as long as all that was asked for came: of a few tasks that many processes are woken for
   * nobody is to take all.
   */
  #ahead = 1
  /** When due tasks are looked for before anything is polled: while the topic is busy, or when one is known to be due. */
  #promoteAt = 0
  /** Batches in a row of which nothing could be completed; nothing is polled for a while then. */
  #setbacks = 0
  #resumeAt = 0
  /** Told of what polls bring when the loop has been asked to end. */
  #onLate: (batch: Batch) => void = () => {}
  #ended: Promise<void> | undefined

  constructor(environment: BatchEnvironment<Transaction>, settings: PollSettings<Transaction>) {
    this.#environment = environment
    this.#settings = settings
    this.#wake = new Wake(environment.clock)
    this.#polling = new Condition(environment.listener, 'poll', environment.topic)
    this.#careful = settings.poll.size
    const { order = 'fifo', condition = 'none' } = settings.poll
    this.#plain = order === 'fifo' && condition === 'none'
  }

  start(): void {
    this.#ended ??= this.#run()
      // Whatever it is, nobody polls any more.
      .catch((error: unknown) => this.#settings.onFatal(error))
  }

  wake(): void {
    this.#wake.wake()
  }

  /**
   * Polls no more; what is held goes on. Resolves when the last poll has ended. What that one brings is handed back at once, and
   * `onLate` is told.
   */
  async drain(onLate: (batch: Batch) => void): Promise<void> {
    this.#onLate = onLate
    this.#draining.abort()
    this.#wake.wake()
    await this.#ended
  }

  async #run(): Promise<void> {
    const { signal } = this.#draining
    while (!signal.aborted) {
      const version = this.#wake.version
      if (!this.#mayPoll()) {
        // A batch that ends wakes the loop, and so does the lease when it holds again.
        await this.#wake.sleep(version, promoteEveryMs)
        continue
      }
      const pausedMs = this.#resumeAt - this.#environment.clock.monotonicMs()
      if (pausedMs > 0) {
        await this.#wake.sleep(version, pausedMs)
        continue
      }
      let release: () => void
      try {
        release = await this.#settings.limiter.acquire(this.#environment.topic, signal)
      } catch (error) {
        if (signal.aborted) return
        // Nobody knows how many may run now.
        this.#settings.onFatal(error)
        return
      }
      // It may have waited for the slot for long, where slots are limited.
      if (this.#settings.limiter !== unlimited && !this.#mayPoll()) {
        release()
        continue
      }
      const sleepMs = await this.#turn(release, version)
      if (sleepMs > 0) await this.#wake.sleep(version, sleepMs)
      // A driver that answers at once is never waited for: as long as there is work, no timer would ring, and no heart beat.
      else await turnOfEventLoop()
    }
  }

  /** Whether there is room for a batch, and the lease holds. */
  #mayPoll(): boolean {
    const { concurrency, lease } = this.#settings
    return this.batches.size < concurrency && this.#stuck.size < concurrency && lease.holds
  }

  /** Polls once. `release` is called when nothing came of it, or what came has ended. @returns how long there is nothing to do */
  async #turn(release: () => void, version: number): Promise<number> {
    const { clock, listener, topic } = this.#environment
    const { leftovers } = this.#settings
    try {
      if (clock.monotonicMs() >= this.#promoteAt)
        this.#promoteAt = clock.monotonicMs() + Math.min(promoteEveryMs, (await this.#promoteDue()).nextDueMs ?? Infinity)
      if (leftovers.pauseMs(topic) === 0) await leftovers.handBack(topic)
      if (leftovers.isDoubted(topic)) await this.#reclaim()
      // What took its time before the poll is no reason to poll after all.
      if (this.#draining.signal.aborted || !this.#mayPoll()) {
        release()
        return 0
      }
      const found = await this.#begin(release)
      this.#polling.worked()
      if (found > 0) {
        this.#empty = 0
        this.#promoteAt = Math.min(this.#promoteAt, clock.monotonicMs() + promoteEveryMs)
        return 0
      }
      release()
      listener.onEmpty({ topic })
      // Woken meanwhile, it polls at once: due tasks have a time of their own.
      // mutants: equivalent number, of what it was woken for before it sleeps no sleep comes
      if (version !== this.#wake.version) return 0
      // Before it sleeps it must know when to wake.
      const { promoted, nextDueMs = Infinity } = await this.#promoteDue()
      const sleepMs = Math.min(nextDueMs, leftovers.pauseMs(topic), this.#idleMs(++this.#empty))
      this.#promoteAt = clock.monotonicMs() + nextDueMs
      return promoted > 0 ? 0 : sleepMs
    } catch (error) {
      release()
      this.#polling.failed(error)
      return pauseMs(this.#polling.failures, 100, 2, 10_000, 0.5)
    }
  }

  /** Dense at first: where one task came, more may follow. Less so where pushes wake the loop, and it sleeps long. */
  #idleMs(empty: number): number {
    const longest = this.#settings.idleMs()
    return pauseMs(empty, Math.min(Math.max(longest / 200, 5), 150), 2, longest, 0.25)
  }

  /** @returns how many tasks were polled */
  #begin(release: () => void): Promise<number> {
    return this.#settings.mode === 'leased' || this.#careful > 0 ? this.#beginLeased(release) : this.#beginTransaction(release)
  }

  async #beginLeased(release: () => void): Promise<number> {
    const plain = this.#plain
    const { size } = this.#settings.poll
    const most = size * this.#batchesAtOnce()
    const tasks = (plain ? await this.#pollPlain(most) : undefined) ?? (await this.#poll({ size: most }))
    this.#careful = tasks.length === 0 ? 0 : this.#careful - tasks.length
    this.#ahead = tasks.length === most ? Math.min(this.#ahead * 2, polledAtOnce) : 1
    // A lease that was lost before it came asks no handler to let go any more.
    const isLate = this.#draining.signal.aborted || !this.#settings.lease.holds
    for (let from = 0; from < tasks.length; from += size) {
      const batch = new LeasedBatch(this.#environment, tasks.slice(from, from + size), plain && this.#plain)
      this.#onLate(batch)
      void this.#keep(batch, isLate ? batch.decline() : batch.begin(), release)
    }
    return tasks.length
  }

  #batchesAtOnce(): number {
    const { concurrency, limiter, mode, poll } = this.#settings
    // A slot is for one batch.
    if (limiter !== unlimited || mode === 'transactional') return 1
    const room = concurrency - Math.max(this.batches.size, this.#stuck.size)
    return Math.max(1, Math.min(this.#ahead, room, Math.floor(polledAtOnce / poll.size)))
  }

  /** A poll of a plain topic is a statement of its own. @returns nothing if the topic turns out not to be one */
  async #pollPlain(size: number): Promise<HeldTask[] | undefined> {
    try {
      return await this.#poll({ size, order: 'fifo', condition: 'none' })
    } catch (error) {
      const { order, condition } = this.#settings.poll
      if (!isTaskError(error, 'TOPIC_DIFFERENT') || (order && condition)) throw error
      this.#plain = false
      return undefined
    }
  }

  async #poll(asked: Pick<PollOptions, 'size' | 'order' | 'condition'>): Promise<HeldTask[]> {
    const { dispatcher, repository, topic } = this.#environment
    const { poll, leftovers } = this.#settings
    const options = { ...poll, ...asked }
    try {
      return await dispatcher.once<HeldTask[]>((transaction) => repository.poll(transaction, topic, options), {
        single: asked.order !== undefined,
      })
    } catch (error) {
      // It may have been committed all the same, and hold tasks that nobody knows of; unless the repository refused it.
      if (!isTaskError(error, 'TOPIC_DIFFERENT')) leftovers.doubt(topic)
      throw error
    }
  }

  async #beginTransaction(release: () => void): Promise<number> {
    const batch = new TransactionalBatch(this.#environment)
    const polled = batch.begin(this.#settings.poll)
    this.batches.add(batch)
    const { length } = await polled.catch((error: unknown) => {
      this.batches.delete(batch)
      throw error
    })
    if (length === 0) {
      await batch.ended
      // Nobody is woken: the loop is about to sleep.
      this.batches.delete(batch)
      return 0
    }
    void this.#keep(batch, batch.ended, () => {
      if (batch.failed) this.#careful = this.#settings.poll.size * this.#settings.concurrency
      release()
    })
    return length
  }

  async #keep(batch: Batch, ended: Promise<void>, release: () => void): Promise<void> {
    this.batches.add(batch)
    await ended
    this.batches.delete(batch)
    this.#settings.leftovers.add(this.#environment.topic, batch.undecided)
    this.#pauseAfter(batch)
    release()
    this.#stuck.add(batch)
    void batch.handled.then(() => {
      this.#stuck.delete(batch)
      this.#wake.wake()
    })
    await undefined
    // A handler that runs on will wake the loop when it ends, but its batch has made room already.
    // mutants: equivalent condition:true, who is woken twice is woken
    if (this.#stuck.has(batch)) this.#wake.wake()
  }

  /** What could not be completed would be polled, and handled, again at once. */
  #pauseAfter({ finished, setback }: Batch): void {
    const now = this.#environment.clock.monotonicMs()
    if (finished.length > 0) this.#setbacks = 0
    else if (setback && now >= this.#resumeAt) this.#resumeAt = now + pauseMs(++this.#setbacks, 100, 2, 10_000, 0.5)
  }

  async #reclaim(): Promise<void> {
    const { listener, topic } = this.#environment
    const known = [...this.batches].flatMap((batch) => batch.tasks)
    try {
      await this.#settings.leftovers.reclaim(topic, known)
    } catch (error) {
      if (isPassing(error) && !isTaskError(error, 'DATABASE_BUSY')) throw error
      // Of one that cannot be written the others are not to suffer: they are polled meanwhile.
      listener.onError({ activity: 'poll', topic, error })
    }
  }

  #promoteDue(): Promise<PromotedDue> {
    const { dispatcher, repository, topic } = this.#environment
    return dispatcher.once<PromotedDue>((transaction) => repository.promoteDue(transaction, topic))
  }
}
