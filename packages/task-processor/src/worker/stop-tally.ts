import type { Execution, HeldTask, TaskInfo, TaskRepository } from '@taskstream/task-api'
import type { Batch } from '../batches/batch.ts'
import type { Dispatcher } from '../core/dispatcher.ts'
import type { StopReport } from './stop-report.ts'

export interface StopTallyOptions<Transaction> {
  readonly topic: string
  readonly repository: TaskRepository<Transaction, Execution>
  readonly dispatcher: Dispatcher<Transaction>
  /** Whether a task that a batch had left behind has been handed back since. */
  readonly wasReturned: (task: HeldTask) => boolean
}

/** Tasks are asked for one by one, in transactions of so many. */
const askedAtOnce = 100

/** Counts what is held as a stop begins, and what comes while it lasts, and says in the end what became of each. */
export class StopTally<Transaction> {
  readonly #options: StopTallyOptions<Transaction>
  /** By sequence. A poll under way may bring again what was handed back a moment before: the last word counts. */
  readonly #held: Map<number, HeldTask> = new Map()
  readonly #seen: Set<HeldTask> = new Set()
  readonly #batches: Set<Batch> = new Set()
  /** What the database has said of those of which nobody else knew. */
  readonly #told: Map<HeldTask, keyof StopReport> = new Map()

  /** @param left held by batches that have ended, and could neither complete them nor hand them back */
  constructor(options: StopTallyOptions<Transaction>, batches: Iterable<Batch>, left: readonly HeldTask[]) {
    this.#options = options
    this.#hold(left)
    for (const batch of batches) {
      const open = new Set(batch.isLeased ? batch.leased : batch.tasks)
      for (const task of [...batch.finished, ...batch.returned]) open.delete(task)
      // What is done already is not held any more.
      for (const task of batch.tasks) if (!open.has(task)) this.#seen.add(task)
      this.add(batch)
    }
  }

  get batches(): Iterable<Batch> {
    return this.#batches
  }

  /** A batch that has come while the stop lasts, or whose transaction has polled meanwhile. */
  add(batch: Batch): void {
    this.#batches.add(batch)
    this.#hold(batch.tasks)
  }

  /**
   * Asks the database what became of the tasks of which nothing is known: of a commit that went unanswered, say.
   *
   * @throws what the database throws: they count as abandoned
   */
  async ask(): Promise<void> {
    const { topic, dispatcher, repository } = this.#options
    const unknown = this.report().abandoned
    for (let from = 0; from < unknown.length; from += askedAtOnce)
      await dispatcher.once<void>(async (transaction) => {
        for (const task of unknown.slice(from, from + askedAtOnce)) {
          const info: TaskInfo | undefined = await repository.task(transaction, topic, task.sequence)
          if (info) this.#told.set(task, this.#outcomeOf(task, info))
        }
      })
  }

  report(): StopReport {
    const batches = [...this.#batches]
    // A transaction may have polled, and ended, since it was added.
    for (const batch of batches) this.#hold(batch.tasks)
    const finished = new Set(batches.flatMap((batch) => batch.finished))
    const returned = new Set(batches.flatMap((batch) => batch.returned))
    const report: Record<keyof StopReport, HeldTask[]> = { finished: [], returned: [], abandoned: [] }
    for (const task of this.#held.values()) {
      if (finished.has(task)) report.finished.push(task)
      else if (returned.has(task) || this.#options.wasReturned(task)) report.returned.push(task)
      else report[this.#told.get(task) ?? 'abandoned'].push(task)
    }
    return report
  }

  #hold(tasks: readonly HeldTask[]): void {
    for (const task of tasks) {
      if (this.#seen.has(task)) continue
      this.#seen.add(task)
      this.#held.set(task.sequence, task)
    }
  }

  #outcomeOf(task: HeldTask, { state, attempt, tries, owner, completed }: TaskInfo): keyof StopReport {
    // Polled again by this very owner, perhaps, after a hand-back that went unanswered.
    if (completed && owner === this.#options.repository.owner) return 'finished'
    // Tried more often, somebody has taken it up since; unless that was refunded too.
    return state === 'ready' && (attempt === task.attempt || tries < task.tries) ? 'returned' : 'abandoned'
  }
}
