import type { HeldTask, Release } from '@taskstream/task-api'
import { Batch } from './batch.ts'
import type { BatchEnvironment } from './batch.ts'
import { Condition } from './listener.ts'
import { pauseMs } from './retry-policy.ts'
import { Wake } from './wake.ts'

/** How a topic is polled. */
export interface PollSettings {
  readonly size: number
  readonly concurrency: number
  readonly idleMs: () => number
}

/** Due tasks are looked for at least so often, however busy the topic is. */
const releaseEveryMs = 1_000

/** The only loop, and the only place that sleeps. Polls ahead while earlier batches are handled, and never more than it may hold. */
export class PollLoop<Transaction> {
  readonly batches: Set<Batch<Transaction>> = new Set()
  readonly #environment: BatchEnvironment<Transaction>
  readonly #settings: PollSettings
  /** Whether the owner's lease holds: without it nothing is polled. */
  readonly #mayPoll: () => boolean
  readonly #wake = new Wake()
  readonly #polling: Condition
  /** A poll has failed: it may have been committed all the same, and would hold tasks that nobody knows of. */
  #uncertain = false
  #draining = false
  #onLate: (batch: Batch<Transaction>) => void = () => {}
  #ended: Promise<void> | undefined

  constructor(environment: BatchEnvironment<Transaction>, settings: PollSettings, mayPoll: () => boolean) {
    this.#environment = environment
    this.#settings = settings
    this.#mayPoll = mayPoll
    this.#polling = new Condition(environment.listener, 'poll', environment.topic)
  }

  get running(): boolean {
    return this.#ended !== undefined && !this.#draining
  }

  start(): void {
    this.#ended ??= this.#run()
  }

  wake(): void {
    this.#wake.wake()
  }

  /**
   * Polls no more; what is held goes on. Resolves when the last poll has ended. What that one brings is handed back at once, and
   * `onLate` is told.
   */
  async drain(onLate: (batch: Batch<Transaction>) => void): Promise<void> {
    this.#onLate = onLate
    this.#draining = true
    this.#wake.wake()
    await this.#ended
  }

  async #run(): Promise<void> {
    let empty = 0
    let releaseAt = 0
    while (!this.#draining) {
      const version = this.#wake.version
      if (this.batches.size >= this.#settings.concurrency || !this.#mayPoll()) {
        // A batch that ends wakes the loop, and so does the lease when it holds again.
        await this.#wake.sleep(version, releaseEveryMs)
        continue
      }
      try {
        if (performance.now() >= releaseAt)
          releaseAt = performance.now() + Math.min(releaseEveryMs, (await this.#release()).nextDueMs ?? Infinity)
        if (this.#uncertain) await this.#reclaim()
        const tasks = await this.#poll()
        this.#polling.worked()
        if (tasks.length > 0) {
          empty = 0
          this.#begin(tasks)
          continue
        }
        // Before it sleeps it must know when to wake.
        const { released, nextDueMs = Infinity } = await this.#release()
        if (released === 0) await this.#wake.sleep(version, Math.min(nextDueMs, this.#idleMs(++empty)))
        releaseAt = 0
      } catch (error) {
        this.#polling.failed(error)
        await this.#wake.sleep(version, pauseMs(this.#polling.failures, 100, 2, 10_000, 0.5))
      }
    }
  }

  /** Dense at first: where one task came, more may follow. */
  #idleMs(empty: number): number {
    return pauseMs(Math.min(empty, 40), 5, 2, this.#settings.idleMs(), 0.25)
  }

  async #poll(): Promise<HeldTask[]> {
    const { dispatcher, repository, topic } = this.#environment
    this.#uncertain = true
    const tasks = await dispatcher.once<HeldTask[]>((transaction) =>
      repository.poll(transaction, topic, { size: this.#settings.size }),
    )
    this.#uncertain = false
    return tasks
  }

  async #reclaim(): Promise<void> {
    const { dispatcher, repository, topic } = this.#environment
    const known = [...this.batches].flatMap((batch) => batch.tasks)
    await dispatcher.once<number>((transaction) => repository.reclaim(transaction, topic, known))
    this.#uncertain = false
  }

  #release(): Promise<Release> {
    const { dispatcher, repository, topic } = this.#environment
    return dispatcher.once<Release>((transaction) => repository.release(transaction, topic))
  }

  #begin(tasks: readonly HeldTask[]): void {
    const batch = new Batch(this.#environment, tasks)
    this.batches.add(batch)
    if (this.#draining) this.#onLate(batch)
    void (this.#draining ? batch.decline() : batch.begin()).then(() => {
      this.batches.delete(batch)
      this.#wake.wake()
    })
  }
}
