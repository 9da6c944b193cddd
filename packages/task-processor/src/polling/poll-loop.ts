import { setImmediate as turnOfEventLoop } from 'node:timers/promises'
import { isPassing, isTaskError } from '@taskstream/task-api'
import type { HeldTask, PollOptions } from '@taskstream/task-api'
import type { Batch, BatchEnvironment } from '../batches/batch.ts'
import { LeasedBatch } from '../batches/leased-batch.ts'
import { Findings, plainMode } from './findings.ts'
import { unlimited } from './limiter.ts'
import { LoopSleep } from './loop-sleep.ts'
import { PollRoom } from './poll-room.ts'
import type { PollSettings } from './poll-settings.ts'
import { every } from '../core/clock.ts'
import { Condition } from '../core/listener.ts'
import { pauseMs } from '../core/retry-policy.ts'
import { TransactionalBatch } from '../batches/transactional-batch.ts'
import { Promotion } from './promote-due.ts'
import { Wake } from './wake.ts'

/** How often due tasks are promoted at least, however busy the topic is. */
const promoteEveryMs = 1_000

/** The loop that polls a topic, and the only place that sleeps. It polls ahead while earlier batches are handled, up to the topic's concurrency. */
export class PollLoop<Transaction> {
  readonly batches: Set<Batch> = new Set()
  readonly #environment: BatchEnvironment<Transaction>
  readonly #settings: PollSettings<Transaction>
  readonly #wake: Wake
  readonly #promotion: Promotion<Transaction>
  readonly #room: PollRoom<Transaction>
  readonly #polling: Condition
  readonly #findings: Findings
  readonly #sleep: LoopSleep<Transaction>
  readonly #draining = new AbortController()
  /**
   * How many tasks are still to be polled by a lease, where tries count, before transactional batches begin. Set after a start, as a task may have killed
   * the process, and after a transaction that was rolled back.
   */
  #careful: number
  /** Whether the topic is plain, as far as is known. */
  #plain: boolean
  /** Since when polls find nothing, by the monotonic clock. */
  #emptyAt: number | undefined
  /** The wake-up after which nothing was found, neither ready nor due. -1 if something was, or while the loop looks. */
  #emptyVersion = -1
  /** When due tasks are promoted next, before a poll: while the topic is busy, or when a task is known to be due. */
  #promoteAt = 0
  /** How many batches in a row could not be completed. After such a batch, polling pauses. */
  #setbacks = 0
  #resumeAt = 0
  /** Called with batches that a poll brings after the loop was asked to end. */
  #onLate: (batch: Batch) => void = () => {}
  #ended: Promise<void> | undefined

  constructor(environment: BatchEnvironment<Transaction>, settings: PollSettings<Transaction>) {
    this.#environment = environment
    this.#settings = settings
    this.#wake = new Wake(environment.clock)
    this.#polling = new Condition(environment.listener, 'poll', environment.topic)
    this.#findings = new Findings(environment)
    this.#sleep = new LoopSleep({ environment, settings, wake: this.#wake, polling: this.#polling, held: () => this.#held() })
    this.#promotion = new Promotion(environment)
    this.#careful = settings.poll.size
    const { order = 'fifo', condition = 'none' } = settings.poll
    this.#plain = order === 'fifo' && condition === 'none'
    this.#room = new PollRoom({
      clock: environment.clock,
      settings,
      holding: () => ({ batches: this.batches, hung: environment.hung, isPlain: this.#plain }),
      onRoom: () => this.wake(),
    })
  }

  /** For how long polls have found nothing, in milliseconds. Undefined if the last one found tasks, failed, or could not be made. */
  get emptyMs(): number | undefined {
    return this.#emptyAt === undefined ? undefined : Math.round(this.#environment.clock.monotonicMs() - this.#emptyAt)
  }

  /** Whether nothing was found since the loop was woken last, as by the end of a batch, or by a push of this process. */
  get isEmpty(): boolean {
    return this.#emptyAt !== undefined && this.#emptyVersion === this.#wake.version
  }

  start(): void {
    // After any error of the loop itself, nobody polls any more.
    this.#ended ??= this.#run().catch((error: unknown) => this.#settings.onFatal(error))
  }

  wake(): void {
    this.#wake.wake()
  }

  /**
   * Stops polling, while held batches go on. Resolves when the last poll has ended. A batch of that poll is handed back at once, and passed to `onLate`.
   */
  async drain(onLate: (batch: Batch) => void): Promise<void> {
    this.#onLate = onLate
    this.#draining.abort()
    this.#room.heldAhead?.close()
    this.#wake.wake()
    await this.#ended
  }

  async #run(): Promise<void> {
    const { signal } = this.#draining
    while (!signal.aborted) {
      const version = this.#wake.version
      if (!this.#mayPoll()) {
        this.#emptyAt = undefined
        const { hung, topic } = this.#environment
        if (this.#settings.isQuiet()) await this.#letGo()
        else if (hung.isFull) this.#polling.failed(hung.toError(topic))
        // The loop is woken when a batch ends, and when the lease holds again.
        await this.#sleep.alone(version, promoteEveryMs)
        continue
      }
      const pausedMs = this.#resumeAt - this.#environment.clock.monotonicMs()
      if (pausedMs > 0) {
        await this.#sleep.alone(version, pausedMs)
        continue
      }
      let release: () => void
      try {
        release = await this.#acquire(signal)
      } catch (error) {
        if (signal.aborted) return
        // The limiter has thrown, so nobody knows how many batches may run.
        this.#settings.onFatal(error)
        return
      }
      // With a limiter, the wait for a slot may have been long.
      if (this.#settings.limiter !== unlimited && !this.#mayPoll()) {
        release()
        continue
      }
      const sleepMs = await this.#turn(release, version)
      if (sleepMs === Infinity) this.#promoteAt = await this.#sleep.withOthers(version, this.#promoteAt)
      else if (sleepMs > 0) await this.#sleep.alone(version, sleepMs)
      // A synchronous driver never yields to the event loop: without this turn no timer would fire and no heartbeat be sent while there is work.
      else await turnOfEventLoop()
    }
  }

  /** A quiet node holds nothing that it does not know of, however long it is quiet. */
  async #letGo(): Promise<void> {
    const { lease, leftovers } = this.#settings
    const { topic } = this.#environment
    const known = [...this.batches].flatMap(({ tasks }) => tasks)
    if (lease.holds && leftovers.isDoubted(topic)) await leftovers.settle(topic, known)
  }

  /** Whether there is room for a batch, the lease holds, and nobody has asked for quiet. */
  #mayPoll(): boolean {
    const { lease, isQuiet } = this.#settings
    return !isQuiet() && this.#room.isThere() && lease.holds
  }

  /** Waits for the limiter, which may take as long as the batches of other topics do. */
  async #acquire(signal: AbortSignal): Promise<() => void> {
    const { limiter, limits } = this.#settings
    const { clock, topic } = this.#environment
    if (limits.restAfterMs(0) === Infinity) return limiter.acquire(topic, signal)
    const end = every(clock, promoteEveryMs, () => void this.#sleep.rest())
    try {
      return await limiter.acquire(topic, signal)
    } finally {
      end()
    }
  }

  /**
   * Polls once.
   *
   * @param release called when the poll brought nothing, or when its batch has ended
   * @returns how long to sleep, in milliseconds; infinite if the node's look at all its topics is to end the sleep
   */
  async #turn(release: () => void, version: number): Promise<number> {
    const { clock, listener, topic } = this.#environment
    const { leftovers } = this.#settings
    // What it promotes is ready before it is polled.
    this.#emptyVersion = -1
    try {
      if (clock.monotonicMs() >= this.#promoteAt) {
        const { nextDueMs = promoteEveryMs } = await this.#promotion.promote()
        this.#promoteAt = clock.monotonicMs() + Math.min(promoteEveryMs, nextDueMs)
      }
      if (leftovers.pauseMs(topic) === 0) await leftovers.handBack(topic)
      const { lease, limits, poll } = this.#settings
      // Until the database has told what an unanswered poll took, nobody knows how many more tasks a limit allows.
      if (leftovers.isDoubted(topic, limits.hasTotal)) await this.#reclaim()
      // An owner that counts as dead must not take slots: maintenance is about to free them.
      // mutants: equivalent number:1 `: 0`, without the lease nothing is polled
      const room = lease.holds ? await limits.room(this.#held(), poll.size * this.#room.batchesAtOnce()) : 0
      // The steps before may have taken long, so the loop checks again whether it may poll.
      if (this.#draining.signal.aborted || !this.#mayPoll()) {
        release()
        return 0
      }
      const found = room > 0 ? await this.#begin(room, release) : 0
      this.#polling.worked()
      const limitedMs = found === 0 ? limits.pauseMs(this.#held()) : Infinity
      if (limitedMs < Infinity) {
        this.#emptyAt = undefined
        release()
        return limitedMs
      }
      if (found > 0) {
        this.#sleep.foundTasks()
        this.#emptyAt = undefined
        this.#promoteAt = Math.min(this.#promoteAt, clock.monotonicMs() + promoteEveryMs)
        return found < room && this.#findings.waitsFor(this.batches.size) ? this.#briefMs() : 0
      }
      this.#emptyAt = room > 0 ? (this.#emptyAt ?? clock.monotonicMs()) : undefined
      release()
      listener.onEmpty({ topic })
      // After a wake-up in between, the loop polls at once, without looking for due tasks.
      // mutants: equivalent number, after a wake-up the sleep ends before it begins
      if (version !== this.#wake.version || this.#findings.goesOn()) return 0
      if (this.#findings.waitsFor(this.batches.size)) return this.#briefMs()
      // The loop must know the next due time before it sleeps.
      const { promoted, nextDueMs: dueMs = Infinity, lookAgainMs = Infinity } = await this.#promotion.promote()
      // Nobody tells when the tasks have ended for which a blocked one waits: they may be of any topic.
      const nextDueMs = Math.min(dueMs, lookAgainMs)
      const sleepMs = Math.min(nextDueMs, leftovers.pauseMs(topic), this.#sleep.pauseAfterEmpty())
      this.#promoteAt = clock.monotonicMs() + nextDueMs
      if (promoted > 0) return 0
      this.#emptyVersion = version
      return this.#sleep.isIdle && lookAgainMs === Infinity && leftovers.pauseMs(topic) === Infinity ? Infinity : sleepMs
    } catch (error) {
      release()
      this.#emptyAt = undefined
      this.#polling.failed(error)
      // A poll that the database refuses would be refused again, and others may be allowed what this process is not.
      if (!isPassing(error)) await this.#sleep.rest(true)
      return pauseMs(this.#polling.failures, 100, 2, 10_000, 0.5)
    }
  }

  /** Gives the pause while batches are at work. Due tasks are promoted as often as on a busy topic. */
  #briefMs(): number {
    return Math.max(1, Math.min(this.#sleep.pauseAfterEmpty(), this.#promoteAt - this.#environment.clock.monotonicMs()))
  }

  /** How many tasks of the topic this process holds, as far as it knows. */
  #held(): number {
    let held = this.#settings.leftovers.of(this.#environment.topic).length
    for (const { tasks } of this.batches) held += tasks.length
    return held
  }

  /** @param most how many tasks may be polled @returns how many were */
  #begin(most: number, release: () => void): Promise<number> {
    return this.#settings.mode === 'leased' || this.#careful > 0
      ? this.#beginLeased(most, release)
      : this.#beginTransaction(most, release)
  }

  async #beginLeased(most: number, release: () => void): Promise<number> {
    const plain = this.#plain
    const { size } = this.#settings.poll
    const mode = plain ? plainMode : this.#findings.single
    const polled = mode && (await this.#pollAlone(most, mode))
    const tasks = polled ?? (await this.#poll({ size: most }))
    this.#careful = tasks.length === 0 ? 0 : this.#careful - tasks.length
    this.#room.polled(tasks.length, most)
    // If the lease was lost during the poll, the abort of handlers has already happened, so these batches must not begin.
    const isLate = this.#draining.signal.aborted || !this.#settings.lease.holds
    for (let from = 0; from < tasks.length; from += size) {
      const batch = new LeasedBatch(this.#environment, tasks.slice(from, from + size), polled !== undefined)
      this.#onLate(batch)
      void this.#keep(batch, isLate ? batch.decline() : (this.#room.heldAhead?.add(batch) ?? batch.begin()), release)
    }
    return tasks.length
  }

  /** Polls by a single statement. @returns undefined if the topic turns out to have another mode */
  async #pollAlone(size: number, mode: typeof plainMode): Promise<HeldTask[] | undefined> {
    try {
      return await this.#poll({ size, ...mode })
    } catch (error) {
      const { order, condition } = this.#settings.poll
      if (!isTaskError(error, 'TOPIC_DIFFERENT') || (order && condition)) throw error
      this.#plain = false
      return undefined
    }
  }

  async #poll(asked: Pick<PollOptions, 'size' | 'order' | 'condition'>): Promise<HeldTask[]> {
    const { repository, topic } = this.#environment
    const { leftovers, limits } = this.#settings
    const options = { ...this.#settings.poll, ...asked }
    try {
      return await limits.poll(options.size, (transaction, size) => repository.poll(transaction, topic, { ...options, size }), {
        single: asked.order !== undefined,
      })
    } catch (error) {
      // Unless the repository refused the poll, it may have been committed and hold tasks that nobody knows.
      if (!isTaskError(error, 'TOPIC_DIFFERENT')) leftovers.doubt(topic)
      throw error
    }
  }

  async #beginTransaction(most: number, release: () => void): Promise<number> {
    const { lease, limits, poll } = this.#settings
    const size = await limits.take(most)
    // mutants: equivalent number:1, the next turn waits for the token
    if (size === 0) return 0
    // Others see nothing of a transaction that is open, and free the slots of an owner that is silent for a lease.
    const holdsSlots = (leaseLost: boolean): boolean => !limits.hasTotal || (lease.holds && !leaseLost)
    const batch = new TransactionalBatch(this.#environment, holdsSlots)
    const polled = batch.begin({ ...poll, size })
    this.batches.add(batch)
    const { length } = await polled.catch((error: unknown) => {
      this.batches.delete(batch)
      throw error
    })
    // mutants: equivalent boundary condition:true `length < size`, nothing is given back if nothing is left
    // On a single connection this waits for the batch. Tokens that are not given back make the topic slower, and nothing else.
    if (length < size) void limits.give(size - length).catch(() => {})
    if (length === 0) {
      await batch.ended
      // An empty batch wakes nobody, so the loop may sleep.
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
    this.#wake.wake()
  }

  /** Pauses polling after a batch that could not be completed, as its tasks would be polled and handled again at once. */
  #pauseAfter({ finished, setback }: Batch): void {
    const now = this.#environment.clock.monotonicMs()
    if (finished.length > 0) this.#setbacks = 0
    else if (setback && now >= this.#resumeAt) this.#resumeAt = now + pauseMs(++this.#setbacks, 100, 2, 10_000, 0.5)
  }

  async #reclaim(): Promise<void> {
    const { listener, topic } = this.#environment
    const { leftovers, limits } = this.#settings
    const known = [...this.batches].flatMap((batch) => batch.tasks)
    try {
      await leftovers.reclaim(topic, known)
    } catch (error) {
      if (isPassing(error) && (limits.hasTotal || !isTaskError(error, 'DATABASE_BUSY'))) throw error
      // Other tasks are polled meanwhile, even if one task cannot be written.
      listener.onError({ activity: 'poll', topic, error })
    }
  }
}
