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

/** How many tasks one transaction asks for, one by one. */
const askedAtOnce = 100

/** Notes the tasks that are held when a stop begins, or that come during the stop, and reports the outcome of each in the end. */
export class StopTally<Transaction> {
  readonly #options: StopTallyOptions<Transaction>
  /** Held tasks by sequence. A poll under way may bring a task again that was just handed back: the later one counts. */
  readonly #held: Map<number, HeldTask> = new Map()
  readonly #seen: Set<HeldTask> = new Set()
  readonly #batches: Set<Batch> = new Set()
  /** Outcomes that only the database knew. */
  readonly #told: Map<HeldTask, keyof StopReport> = new Map()

  /** @param left tasks that earlier batches could neither complete nor hand back */
  constructor(options: StopTallyOptions<Transaction>, batches: Iterable<Batch>, left: readonly HeldTask[]) {
    this.#options = options
    this.#hold(left)
    for (const batch of batches) {
      const open = new Set(batch.isLeased ? batch.leased : batch.tasks)
      for (const task of [...batch.finished, ...batch.returned]) open.delete(task)
      // Tasks that are done already are not held any more.
      for (const task of batch.tasks) if (!open.has(task)) this.#seen.add(task)
      this.add(batch)
    }
  }

  get batches(): Iterable<Batch> {
    return this.#batches
  }

  /** Adds a batch that was polled during the stop. */
  add(batch: Batch): void {
    this.#batches.add(batch)
    this.#hold(batch.tasks)
  }

  /**
   * Asks the database for the state of tasks whose outcome is unknown: after a commit without an answer, say.
   *
   * @throws the error of the database. The tasks then count as abandoned
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
    // The transaction of a batch may have polled, and ended, since the batch was added.
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
    const isOurs = owner === this.#options.repository.owner
    // This owner may itself have polled the task again, after a hand-back without an answer.
    if (isOurs && completed) return 'finished'
    // Completed to be retried at once, and made ready since: a hand-back would have cleared the owner.
    if (isOurs && state === 'ready' && attempt === task.attempt) return 'finished'
    // A later attempt means that an owner has polled the task since. Fewer tries mean that this attempt was refunded too.
    return state === 'ready' && (attempt === task.attempt || tries < task.tries) ? 'returned' : 'abandoned'
  }
}
