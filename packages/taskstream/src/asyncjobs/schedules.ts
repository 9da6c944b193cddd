import { invalid, isTaskError, readInput } from '@taskstream/task-api'
import { defineJob } from '@taskstream/task-jobs'
import type { Job } from '@taskstream/task-jobs'
import { PeriodicScheduler, periodicTasks } from '@taskstream/task-scheduler'
import type { PeriodicTaskInfo, PeriodicTasks } from '@taskstream/task-scheduler'
import type { Timer } from '@taskstream/task-timers'
import type { Stream } from '../stream.ts'
import { failure } from './errors.ts'
import { newScheduledTask, ScheduledTask, storedSchedule } from './scheduled-task.ts'
import type { ScheduleOptions, StoredSchedule } from './scheduled-task.ts'
import type { TaskStore } from './task-store.ts'
import type { Task } from './task.ts'
import { topicOf } from './work-queue.ts'

/** The scope of the timers. */
const scope = 'asyncjobs'

/** The clock pushes one of these for each occurrence. Its handler creates the task, which so has an id and a deadline of its own. */
const occurrence: Job<'asyncjobs:occurrence', StoredSchedule> = defineJob('asyncjobs:occurrence', { input: storedSchedule })

/** How long an occurrence is kept once its task was created, in milliseconds: a day. One that failed is kept until somebody looks at it. */
const keptMs = 86_400_000

interface Enqueueing<Transaction> {
  /** Makes the client's own queue known. */
  prepare(): Promise<void>
  /** Whether the tasks of a queue must be signed. */
  isSigned(queue: string): boolean
  enqueue(transaction: Transaction, queue: string, task: Task): Promise<Task>
}

/** Tasks that are created by the clock. They are kept in the database, and whichever scheduler is first creates the task of an occurrence. */
export class TaskSchedules<Transaction> {
  readonly #stream: Stream<Transaction>
  readonly #store: TaskStore<Transaction>
  readonly #client: Enqueueing<Transaction>
  readonly #timers: PeriodicTasks<Transaction>
  readonly #schedulers = new Set<PeriodicScheduler<Transaction>>()
  #isHandled = false

  constructor(stream: Stream<Transaction>, store: TaskStore<Transaction>, client: Enqueueing<Transaction>) {
    this.#stream = stream
    this.#store = store
    this.#client = client
    this.#timers = periodicTasks(stream.tasks, { scope })
  }

  /**
   * Has the clock create tasks from now on.
   *
   * @param name matches `^[a-zA-Z0-9_:-]+$`
   * @param schedule five fields of cron, `@yearly` to `@hourly`, or `@every 1h30m`, in UTC
   * @param queue must be known
   * @throws TaskError ARGUMENT_INVALID; TIMER_DUPLICATE if there is a scheduled task of this name; TOPIC_UNKNOWN if there is no such queue
   * @example
   * await client.schedules.newScheduledTask('nightly', '30 2 * * *', 'EMAIL', 'email:report', { kind: 'sales' }, { deadlineMs: 3_600_000 })
   */
  async newScheduledTask(
    name: string,
    schedule: string,
    queue: string,
    type: string,
    payload?: unknown,
    options: ScheduleOptions = {},
  ): Promise<ScheduledTask> {
    const { task, timer } = newScheduledTask(name, schedule, queue, type, payload, options)
    if (this.#client.isSigned(queue))
      throw invalid(
        'queue',
        queue,
        'must not require signatures: a scheduler creates what a row says, and whoever writes rows may have no key',
      )
    await this.#client.prepare()
    await this.#stream.prepare(occurrence)
    await this.#stream.transaction(async (transaction) => {
      const queues = await this.#store.queues(transaction)
      if (!queues.includes(queue)) throw failure('TOPIC_UNKNOWN', 'queueMissing', queue, { topic: topicOf(queue) })
      await this.#add(transaction, task, timer)
    })
    this.#notify()
    return task
  }

  /** @throws TaskError TIMER_UNKNOWN if there is no such scheduled task; INPUT_INVALID if what is kept of it cannot be read */
  async loadScheduledTaskByName(name: string): Promise<ScheduledTask> {
    const timer = await this.#stream.transaction((transaction) => this.#timers.get(transaction, name))
    if (!timer) throw failure('TIMER_UNKNOWN', 'scheduledMissing', name, { scope, id: name })
    return toScheduled(timer)
  }

  /** All scheduled tasks, in the order of their names. @throws TaskError INPUT_INVALID */
  async scheduledTasks(): Promise<ScheduledTask[]> {
    const timers = await this.#stream.transaction((transaction) => this.#timers.list(transaction))
    return timers.map(toScheduled)
  }

  /** Ends a schedule. The tasks that it has created stay. @throws TaskError TIMER_UNKNOWN */
  async removeScheduledTask(name: string): Promise<void> {
    try {
      await this.#stream.transaction((transaction) => this.#timers.remove(transaction, name))
    } catch (error) {
      if (!isTaskError(error, 'TIMER_UNKNOWN')) throw error
      throw failure('TIMER_UNKNOWN', 'scheduledMissing', name, { scope, id: name }, error)
    }
    this.#notify()
  }

  /** How many schedules there are. */
  async count(): Promise<number> {
    const timers = await this.#stream.transaction((transaction) => this.#timers.list(transaction))
    return timers.length
  }

  /** Has the tasks of occurrences created once the stream is started. Call it before, in at least one process. @throws TaskError LIFECYCLE */
  handle(): this {
    if (!this.#isHandled)
      this.#stream.handle(
        occurrence,
        ({ input, commit }) =>
          commit(async (transaction) => {
            const scheduled = new ScheduledTask(input)
            await this.#client.enqueue(transaction, scheduled.queue, scheduled.newTask())
          }),
        { retainMs: { succeeded: keptMs } },
      )
    this.#isHandled = true
    return this
  }

  /**
   * Makes a scheduler, which notices occurrences once it is started. Any number of them may run: each occurrence is noticed once. It finds schedules of
   * other processes at its next look, at most ten seconds later.
   *
   * @example
   * client.schedules.handle()
   * await client.run(router)
   * await using scheduler = client.schedules.newTaskScheduler()
   * await scheduler.start()
   */
  newTaskScheduler(): PeriodicScheduler<Transaction> {
    const scheduler = new PeriodicScheduler<Transaction>({
      repository: this.#stream.tasks,
      transactions: (work) => this.#stream.transaction(work),
      listener: { onFired: ({ timer }) => timer.scope === scope && this.#stream.node.wake(occurrence.name) },
    })
    this.#schedulers.add(scheduler)
    return scheduler
  }

  async #add(transaction: Transaction, task: ScheduledTask, timer: Timer): Promise<void> {
    const { name } = task
    const input = JSON.stringify(task)
    try {
      // What was missed is not made up for.
      const policies = { misfire: 'skip', whileUnfinished: 'push' } as const
      await this.#timers.add(transaction, { id: name, timer, topic: occurrence.name, input, ...policies })
    } catch (error) {
      if (!isTaskError(error, 'TIMER_DUPLICATE')) throw error
      throw failure('TIMER_DUPLICATE', 'scheduleDuplicate', name, { scope, id: name }, error)
    }
  }

  #notify(): void {
    for (const scheduler of this.#schedulers) scheduler.notify()
  }
}

function toScheduled({ id, input }: PeriodicTaskInfo): ScheduledTask {
  try {
    return new ScheduledTask(readInput(storedSchedule, id, input))
  } catch (error) {
    throw failure('INPUT_INVALID', 'scheduledInvalid', id, { name: id }, error)
  }
}
