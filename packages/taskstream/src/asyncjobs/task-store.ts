/** The tasks of all queues: found by their ids, wherever they are. */
import { filterStates } from '@taskstream/task-api'
import type { TaskEnding, TaskInfo } from '@taskstream/task-api'
import type { Stream } from '../stream.ts'
import { failure } from './errors.ts'
import { checkName } from './names.ts'
import { toTask } from './stored-task.ts'
import type { Task } from './task.ts'
import { queueOf, topicOf } from './work-queue.ts'

/** A task, and the queue that has it. */
export interface Found {
  readonly queue: string
  readonly info: TaskInfo
}

export class TaskStore<Transaction> {
  readonly #tasks: Stream<Transaction>['tasks']
  readonly #queue: string

  /** @param queue in which tasks are looked for first */
  constructor(stream: Stream<Transaction>, queue: string) {
    this.#tasks = stream.tasks
    this.#queue = queue
  }

  /** The names of all queues, that of the client first. */
  async queues(transaction: Transaction): Promise<readonly string[]> {
    const topics = await this.#tasks.topics(transaction)
    const queues = topics.map(queueOf).filter((name) => name !== undefined)
    return queues.toSorted((left, right) => Number(right === this.#queue) - Number(left === this.#queue))
  }

  /** The tasks of these ids; undefined for those that are nowhere. */
  async find(transaction: Transaction, ids: readonly string[]): Promise<readonly (Found | undefined)[]> {
    const queues = await this.queues(transaction)
    const found: (Found | undefined)[] = []
    for (const id of ids) found.push(await this.#find(transaction, id, queues))
    return found
  }

  /** @throws TaskError TASK_STATE if there is no such task; ARGUMENT_INVALID */
  async one(transaction: Transaction, id: string): Promise<Found> {
    checkName('id', id, 'idInvalid')
    const [found] = await this.find(transaction, [id])
    if (!found) throw failure('TASK_STATE', 'taskMissing', id, { id })
    return found
  }

  async load(transaction: Transaction, id: string): Promise<Task> {
    const { queue, info } = await this.one(transaction, id)
    const [ending] = (await this.#tasks.endings(transaction, [info])) as readonly (TaskEnding | undefined)[]
    return toTask(queue, info, ending?.value)
  }

  /** Deletes a task, also one that is being handled. @throws TaskError TASK_STATE if it is not there, or others depend on it that wait */
  async delete(transaction: Transaction, id: string): Promise<void> {
    const { queue, info } = await this.one(transaction, id)
    const { sequence } = info
    const options = { from: sequence, to: sequence, states: filterStates }
    if ((await this.#tasks.purge(transaction, topicOf(queue), options)) > 0) return
    throw failure('TASK_STATE', 'taskMissing', `${id} is held by another transaction, or is needed by a task that waits`, { id })
  }

  /** The first tasks, queue by queue. */
  async list(transaction: Transaction, limit: number): Promise<Task[]> {
    const tasks: Task[] = []
    for (const queue of await this.queues(transaction)) {
      const size = limit - tasks.length
      if (size === 0) break
      const page = await this.#tasks.page(transaction, topicOf(queue), { size })
      const endings = (await this.#tasks.endings(transaction, page)) as readonly (TaskEnding | undefined)[]
      tasks.push(...page.map((info, index) => toTask(queue, info, endings[index]?.value)))
    }
    return tasks
  }

  async #find(transaction: Transaction, id: string, queues: readonly string[]): Promise<Found | undefined> {
    for (const queue of queues) {
      const info = await this.#tasks.task(transaction, topicOf(queue), { externalId: id })
      if (info) return { queue, info }
    }
    return undefined
  }
}
