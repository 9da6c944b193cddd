import type { Execution, HeldTask, TaskDependency, TaskEnding } from '@taskstream/task-api'
import { topicOf } from '@taskstream/task-jobs'
import type { AnyJob, NeededEnding } from '@taskstream/task-jobs'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { reachable } from './definitions.ts'

/** Runs work in a transaction. */
type Transact<Transaction> = <Result>(work: (transaction: Transaction) => Promise<Result>) => Promise<Result>

/** What the handled jobs need of others, in this process. */
export class JobNeeds<Transaction, E extends Execution> {
  readonly #tasks: Pick<SqlTaskRepository<Transaction, E>, 'dependencies' | 'endings'>
  readonly #transaction: Transact<Transaction>
  /** The topics of handled jobs that need a job, by the topics of that one and of those with which it may go on. */
  readonly #dependents = new Map<string, Set<string>>()

  constructor(tasks: SqlTaskRepository<Transaction, E>, transaction: Transact<Transaction>) {
    this.#tasks = tasks
    this.#transaction = transaction
  }

  handled(job: AnyJob): void {
    const needed = [...(job.settings.needs?.values() ?? [])].map((need) => need.job)
    for (const one of reachable(needed).values()) {
      const topic = topicOf(one as AnyJob)
      const dependents = this.#dependents.get(topic) ?? new Set()
      this.#dependents.set(topic, dependents.add(topicOf(job)))
    }
  }

  /** The topics of handled jobs that may start when a task of this topic has ended. */
  dependents(topic: string): Iterable<string> {
    return this.#dependents.get(topic) ?? []
  }

  /** What the tasks that a task needs have returned, in a transaction of its own. */
  readonly needed = (task: HeldTask): Promise<NeededEnding[]> =>
    this.#transaction(async (transaction) => {
      const [needed] = (await this.#tasks.dependencies(transaction, [task])) as readonly (readonly Required<TaskDependency>[])[]
      const endings = (await this.#tasks.endings(
        transaction,
        needed!.map(({ on }) => on),
      )) as readonly (TaskEnding | undefined)[]
      return needed!.map((one, index) => ({ ...one, ending: endings[index] }))
    })
}
