import type { FilterState, TaskCount } from '@taskstream/task-api'
import type { Stream } from '../stream.ts'
import { failure } from './errors.ts'
import type { TaskStore } from './task-store.ts'
import { checkedQueue, limitsOf, topicOf } from './work-queue.ts'
import type { WorkQueueOptions } from './work-queue.ts'

/** A queue at a glance. */
export interface QueueInfo {
  readonly name: string
  /** How many tasks it has, ended ones included. */
  readonly entries: number
  /** How many of them have not ended. */
  readonly waiting: number
}

const waiting: ReadonlySet<FilterState> = new Set(['active', 'ready', 'expired', 'suspended', 'delayed', 'blocked'])

/** Looks after the queues of a database. A task belongs to its queue, and goes with it. */
export class QueueAdmin<Transaction> {
  readonly #stream: Stream<Transaction>
  readonly #store: TaskStore<Transaction>

  constructor(stream: Stream<Transaction>, store: TaskStore<Transaction>) {
    this.#stream = stream
    this.#store = store
  }

  /** The names of all queues, in alphabetical order. */
  async queueNames(): Promise<string[]> {
    const names = await this.#stream.transaction((transaction) => this.#store.queues(transaction))
    return [...names].toSorted()
  }

  /** All queues, in the order of their names. Counts all of their tasks. */
  async queues(): Promise<QueueInfo[]> {
    const names = await this.queueNames()
    const infos: QueueInfo[] = []
    for (const name of names) infos.push(await this.queueInfo(name))
    return infos
  }

  /** A queue. Counts all of its tasks. @throws TaskError TOPIC_UNKNOWN if there is no such queue */
  async queueInfo(name: string): Promise<QueueInfo> {
    const topic = topicOf(name)
    return this.#inQueue(name, async (transaction) => {
      type Counts = ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>
      const counts: Counts = await this.#stream.tasks.count(transaction, { topic })
      let [entries, open] = [0, 0]
      for (const [state, { count }] of counts.get(topic) ?? []) {
        entries += count
        if (waiting.has(state)) open += count
      }
      return { name, entries, waiting: open }
    })
  }

  /**
   * Sets the limits of a queue that all processes keep together, in place of those that it had. Clients follow within a second, or at their next maintenance.
   *
   * @throws TaskError TOPIC_UNKNOWN if there is no such queue; ARGUMENT_INVALID
   */
  async configureQueue(
    name: string,
    options: Pick<WorkQueueOptions, 'maxEntries' | 'discardOld' | 'maxConcurrent'>,
  ): Promise<void> {
    const limits = limitsOf(checkedQueue({ ...options, name }))
    await this.#inQueue(name, (transaction) => this.#stream.tasks.limit(transaction, topicOf(name), limits))
  }

  /** Deletes all tasks of a queue. @returns how many there were @throws TaskError TOPIC_UNKNOWN if there is no such queue */
  async purgeQueue(name: string): Promise<number> {
    return this.#inQueue(name, (transaction) => this.#stream.tasks.purgeAll(transaction, topicOf(name)))
  }

  /** Deletes a queue with all of its tasks. @throws TaskError TOPIC_UNKNOWN if there is no such queue */
  async deleteQueue(name: string): Promise<void> {
    await this.#inQueue(name, (transaction) => this.#stream.tasks.destroy(transaction, topicOf(name)))
  }

  #inQueue<Result>(name: string, work: (transaction: Transaction) => Promise<Result>): Promise<Result> {
    return this.#stream.transaction(async (transaction) => {
      const queues = await this.#store.queues(transaction)
      if (!queues.includes(name)) throw failure('TOPIC_UNKNOWN', 'queueMissing', name, { topic: topicOf(name) })
      return work(transaction)
    })
  }
}
