import { TaskError } from '@taskstream/task-api'
import type { Execution, HeldTask, TaskRepository } from '@taskstream/task-api'
import type { Batch } from '../batches/batch.ts'
import type { Dispatcher } from '../core/dispatcher.ts'

/** How many tasks one statement asks about. A single batch may have as many, and a verb takes ten times as many. */
const portion = 10_000

/** The topics of a node, with the batches that it holds of each. */
interface Holder {
  readonly topic: string
  readonly batches: Iterable<Batch>
}

export interface TakenAwayOptions<Transaction> {
  readonly repository: TaskRepository<Transaction, Execution>
  readonly dispatcher: Dispatcher<Transaction>
  readonly holders: () => Iterable<Holder>
}

/**
 * Asks handlers to let go whose tasks were taken away: cancelled, or given to another owner. What they would write is refused anyway, but they may work
 * for hours. Only batches that were there at the last look are asked about, as most handlers are quicker.
 */
export class TakenAway<Transaction> {
  readonly #options: TakenAwayOptions<Transaction>
  #seen: ReadonlySet<Batch> = new Set()

  constructor(options: TakenAwayOptions<Transaction>) {
    this.#options = options
  }

  /** @throws the error of the database */
  async look(): Promise<void> {
    const holders = Array.from(this.#options.holders(), ({ topic, batches }) => ({
      topic,
      leased: [...batches].filter(({ isLeased }) => isLeased),
    }))
    const seen = this.#seen
    this.#seen = new Set(holders.flatMap(({ leased }) => leased))
    for (const { topic, leased } of holders) {
      const long = leased.filter((batch) => seen.has(batch))
      for (const some of portionsOf(long)) await this.#ask(topic, some)
    }
  }

  async #ask(topic: string, batches: readonly Batch[]): Promise<void> {
    const { repository, dispatcher } = this.#options
    const held = batches.flatMap(({ leased }) => leased)
    if (held.length === 0) return
    const gone = await dispatcher.once<HeldTask[]>((transaction) => repository.lost(transaction, topic, held))
    // Two batches may have attempts at one task, of which one is lost.
    const lost = new Set(gone)
    for (const batch of batches) {
      // A batch that has lost some of its tasks goes on with the others.
      const { leased } = batch
      if (leased.length > 0 && leased.every((task) => lost.has(task)))
        batch.lose(
          new TaskError('TASK_LOST', `The tasks of this batch of topic "${topic}" were cancelled, or taken by others`, {
            lost: leased,
          }),
        )
    }
  }
}

function* portionsOf(batches: readonly Batch[]): Generator<readonly Batch[]> {
  let some: Batch[] = []
  let count = 0
  for (const batch of batches) {
    if (count + batch.tasks.length > portion && some.length > 0) {
      yield some
      some = []
      count = 0
    }
    some.push(batch)
    count += batch.tasks.length
  }
  if (some.length > 0) yield some
}
