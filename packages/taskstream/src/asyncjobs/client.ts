import { checkDuration, checkInteger, checkNames, invalid, isTaskError, optionNames, taskLimits } from '@taskstream/task-api'
import type { Execution, TaskError } from '@taskstream/task-api'
import { isOf } from '@taskstream/task-jobs'
import type { JobPushOptions, JobRef } from '@taskstream/task-jobs'
import { given } from '../given.ts'
import type { HandleOptions, StartOptions } from '../stream-options.ts'
import type { Stream } from '../stream.ts'
import { failure } from './errors.ts'
import { handlerOf } from './handle-task.ts'
import { QueueAdmin } from './queue-admin.ts'
import { retryPolicyLookup, toRetry } from './retry-policies.ts'
import type { RetryPolicyProvider } from './retry-policies.ts'
import { TaskRouter } from './router.ts'
import { TaskSchedules } from './schedules.ts'
import { stateOf } from './states.ts'
import { toStored } from './stored-task.ts'
import { TaskStore } from './task-store.ts'
import type { Found } from './task-store.ts'
import { isUnheardOf, Task } from './task.ts'
import { checkedQueue, definitionsOf, topicOf } from './work-queue.ts'
import type { Definitions, WorkQueue, WorkQueueOptions } from './work-queue.ts'

export interface AsyncJobsOptions {
  /** The queue of this client: its name, or what is said of it. Default `DEFAULT`. */
  readonly queue?: string | WorkQueueOptions
  /** How many tasks this client handles at a time, 1 to 10 000. Default 10. */
  readonly concurrency?: number
  /** After which pauses tasks are tried again: the name of a policy, or one of your own. Default `default`. */
  readonly retryPolicy?: string | RetryPolicyProvider
  /** How long a task of the queue is kept once it has ended, in milliseconds, 0 to 100 years. Default: for ever. */
  readonly taskRetentionMs?: number
}

const names = optionNames<AsyncJobsOptions>('asyncJobs', {
  queue: true,
  concurrency: true,
  retryPolicy: true,
  taskRetentionMs: true,
})

/** Tasks and queues in the words of asyncjobs, over the queues of a stream. A client has one queue. */
export class AsyncJobs<Transaction> {
  readonly #stream: Stream<Transaction>
  readonly #queue: WorkQueue
  readonly #handling: HandleOptions<Transaction>
  readonly #definitions: Definitions
  readonly #store: TaskStore<Transaction>
  /** Looks after the queues. */
  readonly queues: QueueAdmin<Transaction>
  /** Tasks that are created by the clock. */
  readonly schedules: TaskSchedules<Transaction>
  #prepared: Promise<void> | undefined

  /** @throws TaskError ARGUMENT_INVALID */
  constructor(stream: Stream<Transaction>, options: AsyncJobsOptions = {}) {
    checkNames(names, options)
    const { queue, concurrency = 10, retryPolicy = 'default', taskRetentionMs: keptMs } = options
    checkInteger('concurrency', concurrency, 1, 10_000)
    if (keptMs !== undefined) checkDuration('taskRetentionMs', keptMs)
    const provider = typeof retryPolicy === 'string' ? retryPolicyLookup(retryPolicy) : retryPolicy
    if (typeof provider?.duration !== 'function')
      throw invalid('retryPolicy', retryPolicy, 'must be the name of a policy, or have a function duration(tries)')
    this.#stream = stream
    this.#queue = checkedQueue(queue)
    const retainMs = keptMs === undefined ? undefined : { succeeded: keptMs, failed: keptMs, filtered: keptMs }
    this.#handling = { concurrency, ...given({ retainMs }) }
    this.#definitions = definitionsOf(this.#queue, toRetry(provider))
    this.#store = new TaskStore(stream, this.#queue.name)
    this.queues = new QueueAdmin(stream, this.#store)
    this.schedules = new TaskSchedules(stream, this.#store, {
      prepare: () => this.prepare(),
      isSigned: (name) => name === this.#queue.name && this.#queue.signed === 'required',
      enqueue: (transaction, name, task) => this.#enqueue(transaction, this.#unsigned(name), task),
    })
  }

  /**
   * Stores a task in the queue of this client, where a handler finds it, in a transaction of its own. One that was loaded in the state retry is tried
   * again at once.
   *
   * @returns the task, with its queue
   * @throws TaskError TASK_STATE if the task's state is not new, retry or blocked; TASK_DUPLICATE if there is a task of this id, and TOPIC_FULL if the queue
   * is full: the given one has the state `queue_error` then; TOPIC_UNKNOWN if there is no such queue, and the client may not create it; errors of the database
   * @example
   * await client.enqueueTask(newTask('email:new', { to: 'ann@example.org' }))
   */
  async enqueueTask(task: Task): Promise<Task> {
    await this.prepare()
    return this.#stream.transaction((transaction) => this.enqueueTaskIn(transaction, task))
  }

  /**
   * Stores a task in your own transaction: it exists if, and only if, the transaction commits. The queue must be known by then: see `prepare`.
   *
   * @throws TaskError as `enqueueTask`
   */
  async enqueueTaskIn(transaction: Transaction, task: Task): Promise<Task> {
    return this.#enqueue(transaction, this.#queue, task)
  }

  /** A queue for what the clock creates. It is never signed: whoever writes the row of a schedule has no key. */
  #unsigned(name: string): WorkQueue {
    if (name !== this.#queue.name) return checkedQueue(name)
    const { signed, ...queue } = this.#queue
    return signed === undefined ? this.#queue : queue
  }

  /** The task of this id, in any queue. @throws TaskError TASK_STATE if there is none; ARGUMENT_INVALID */
  async loadTaskById(id: string): Promise<Task> {
    return this.#stream.transaction((transaction) => this.#store.load(transaction, id))
  }

  /**
   * Has a task tried again at once in its queue, with all its tries and without a deadline. Its result goes, and what it depends on is looked at again.
   *
   * @throws TaskError TASK_STATE if there is no such task, or if it is ready, is being handled or waits for others; ARGUMENT_INVALID
   */
  async retryTaskById(id: string): Promise<void> {
    await this.#stream.transaction(async (transaction) => {
      await this.#retry(transaction, await this.#store.one(transaction, id), id)
    })
  }

  /** Deletes a task. If it is being handled, what its handler returns is lost. @throws TaskError TASK_STATE, ARGUMENT_INVALID */
  async deleteTask(id: string): Promise<void> {
    await this.#stream.transaction((transaction) => this.#store.delete(transaction, id))
  }

  /**
   * The tasks of all queues: of one after the other, in the order in which they were enqueued.
   *
   * @param limit how many at most, 1 to 100 000
   * @throws TaskError TASK_STATE if there are none; ARGUMENT_INVALID
   */
  async tasks(limit: number = 10_000): Promise<Task[]> {
    checkInteger('limit', limit, 1, taskLimits.batchSize)
    const tasks = await this.#stream.transaction((transaction) => this.#store.list(transaction, limit))
    if (tasks.length === 0) throw failure('TASK_STATE', 'tasksNone')
    return tasks
  }

  /** A router whose handlers may write in the transactions of this stream. */
  newTaskRouter(): TaskRouter<Transaction> {
    return new TaskRouter()
  }

  /** Has the tasks of the queue handled once the stream is started: for several clients, or jobs, of one stream. @throws TaskError LIFECYCLE */
  handle(router: TaskRouter<Transaction>): this {
    if (!(router instanceof TaskRouter)) throw invalid('router', router, 'must be a TaskRouter')
    const { queue, task, dependent } = this.#definitions
    const handle = handlerOf(this.#queue.name, router)
    this.#stream.handle(task, (job) => handle(job, undefined))
    this.#stream.handle(dependent, (job) => handle(job, job.needs.dependencies))
    this.#stream.route(queue, {}, this.#handling)
    return this
  }

  /**
   * Handles the tasks of the queue, and starts the stream. `stop` of the stream ends it.
   *
   * @throws TaskError TOPIC_UNKNOWN if there is no such queue, and the client may not create it; errors of `handle`, and of the stream's `start`
   * @example
   * await client.run(router, { stopOn: ['SIGTERM', 'SIGINT'] })
   */
  async run(router: TaskRouter<Transaction>, options: StartOptions = {}): Promise<void> {
    await this.prepare()
    this.handle(router)
    await this.#stream.start(options)
  }

  /**
   * Makes the tables, if they are missing, and the queue known; or checks that it is, if the client may not create it. `enqueueTask` and `run` do so by
   * themselves: a process that only calls `enqueueTaskIn` calls it once.
   *
   * @throws TaskError TOPIC_UNKNOWN if there is no such queue, and the client may not create it; errors of the stream's `prepare`
   */
  prepare(): Promise<void> {
    const { task, dependent } = this.#definitions
    this.#prepared ??= this.#queue.noCreate ? this.#bind() : this.#stream.prepare(task, dependent)
    return this.#prepared.catch((error: unknown) => {
      this.#prepared = undefined
      throw error
    })
  }

  async #bind(): Promise<void> {
    const { name } = this.#queue
    const queues = await this.#stream.transaction((transaction) => this.#store.queues(transaction))
    if (!queues.includes(name)) throw failure('TOPIC_UNKNOWN', 'queueMissing', name, { topic: topicOf(name) })
  }

  async #enqueue(transaction: Transaction, queue: WorkQueue, task: Task): Promise<Task> {
    if (!(task instanceof Task)) throw invalid('task', task, 'must be made by newTask, or loaded')
    const { id, state } = task
    if (state !== 'new' && state !== 'retry' && state !== 'blocked')
      throw failure('TASK_STATE', 'stateInvalid', `"${state}"`, { id, state })
    const [there] = isUnheardOf(task) ? [] : await this.#store.find(transaction, [id])
    if (there && state === 'retry') {
      await this.#retry(transaction, there, id)
      return task
    }
    const pushed = there ? undefined : await this.#push(transaction, queue, task)
    if (pushed?.outcome !== 'created') throw refused(task, failure('TASK_DUPLICATE', 'itemDuplicate', id, { id }))
    task.queue = queue.name
    return task
  }

  async #retry(transaction: Transaction, { queue, info }: Found, id: string): Promise<void> {
    const { task, dependent } = definitionsOf({ ...this.#queue, name: queue })
    try {
      await this.#stream.retry(transaction, isOf(dependent, info) ? dependent : task, id)
    } catch (error) {
      if (!isTaskError(error, 'TASK_STATE')) throw error
      const state = stateOf(info)
      const why = `"${state}": ${id} is tried again by hand once it has ended, or while it waits for its next try`
      throw failure('TASK_STATE', 'stateInvalid', why, { id, state }, error)
    }
  }

  async #push(transaction: Transaction, queue: WorkQueue, task: Task): Promise<JobRef> {
    const { task: alone, dependent } = queue === this.#queue ? this.#definitions : definitionsOf(queue)
    const options = pushOptionsOf(queue, task)
    try {
      if (!task.hasDependencies()) return await this.#stream.push(transaction, alone, toStored(task), options)
      const needed = await this.#store.find(transaction, task.dependencies)
      // Nothing has the sequence 0: a task whose dependency is not there cannot be reached.
      const refs = needed.map((found) => ({
        job: alone.name,
        topic: topicOf(found?.queue ?? queue.name),
        sequence: found?.info.sequence ?? 0,
      }))
      const needs = { dependencies: refs as unknown as readonly JobRef[] }
      const missing = task.dependencies.filter((_, index) => !needed[index])
      return await this.#stream.push(transaction, dependent, toStored(task, missing), { ...options, needs })
    } catch (error) {
      if (isTaskError(error, 'TOPIC_FULL')) throw refused(task, error)
      if (!isTaskError(error, 'TOPIC_UNKNOWN')) throw error
      const advice = queue.noCreate ? '' : ': call await client.prepare() once'
      throw failure('TOPIC_UNKNOWN', 'queueMissing', `${queue.name}${advice}`, error.data, error)
    }
  }
}

/** Says of a task that its queue has not taken it. @returns the error */
function refused(task: Task, error: TaskError): TaskError {
  task.state = 'queue_error'
  task.lastErr = error.message
  return error
}

/** The limits of a task in a queue: the closer ones of both. */
function pushOptionsOf({ maxTries: most, maxAgeMs }: WorkQueue, { id, deadline, maxTries }: Task): JobPushOptions {
  const tries = [most, maxTries].filter((limit) => limit > 0)
  const isOldest = maxAgeMs > 0 && (deadline === undefined || deadline.getTime() > Date.now() + maxAgeMs)
  return {
    id,
    ...(tries.length > 0 && { maxTries: Math.min(...tries) }),
    ...(isOldest ? { deadlineMs: maxAgeMs } : given({ deadline })),
  }
}

/**
 * Makes a client for tasks in the words of asyncjobs. Its queue is a queue of the stream.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const client = asyncJobs(stream, { queue: { name: 'EMAIL', maxTries: 5 }, retryPolicy: '1m' })
 */
export function asyncJobs<Transaction, E extends Execution>(
  stream: Stream<Transaction, E>,
  options: AsyncJobsOptions = {},
): AsyncJobs<Transaction> {
  // The type says promises; a synchronous driver returns values, which can be awaited too.
  return new AsyncJobs(stream as unknown as Stream<Transaction>, options)
}
