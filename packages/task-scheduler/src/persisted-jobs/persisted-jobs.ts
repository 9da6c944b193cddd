import { randomUUID } from 'node:crypto'
import { checkNames, checkText, invalid, isTaskError, optionNames, TaskError } from '@taskstream/task-api'
import type { Execution, HeldTask, TaskNotifier, TransactionSource } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import type { RetryPolicy, SingleHandler, TaskManager, TaskNode } from '@taskstream/task-processor'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import { checkJob } from '../jobs/job-settings.ts'
import type { Job, JobContext, JobErrorPolicy, JobLatePolicy, JobTrigger } from '../jobs/job.ts'
import { logToConsole, safeLog } from '../jobs/job-log.ts'
import type { JobLog } from '../jobs/job-log.ts'
import type { Jobs } from '../jobs/jobs.ts'
import { once } from '../once.ts'
import { PeriodicScheduler } from '../periodic/periodic-scheduler.ts'
import type { PeriodicTaskInfo } from '../periodic/periodic-task.ts'
import { periodicTasks } from '../periodic/periodic-tasks.ts'
import type { PeriodicTasks } from '../periodic/periodic-tasks.ts'
import { periodicLimits } from '../periodic/definition.ts'
import { nowOf } from '../periodic/look.ts'
import { runJob } from './run-job.ts'

/** What a handler of persisted jobs is told: which of the job's fires it is, is not. */
export type PersistedJobContext = Omit<JobContext, 'count'>

export type PersistedJobFunction = (context: PersistedJobContext) => unknown

/** A job's times and policies. Jobs do not run beside themselves. */
export type PersistedJobOptions = Omit<JobTrigger, 'overlap'> & {
  /** Names the job, 1 to 200 characters. Default: a random UUID. */
  readonly id?: string
} & (
    | { readonly intervalMs: number; readonly timer?: never }
    | { readonly timer: NonNullable<JobTrigger['timer']>; readonly intervalMs?: never }
  )

interface PersistedOnceOptions {
  readonly id?: string
  readonly whenLate?: JobLatePolicy
}

export interface PersistedJobsOptions<Transaction, E extends Execution> {
  readonly repository: SqlTaskRepository<Transaction, E>
  readonly transactions: TransactionSource<Transaction>
  /** By the names under which they are scheduled. Every process that may run a job has them all. */
  readonly handlers: Readonly<Record<string, PersistedJobFunction>>
  /** Where jobs are pushed when they are due; also whose timers they are. Default `jobs`. */
  readonly topic?: string
  /** How many run at a time in this process, 1 to 1000. Default 5. */
  readonly workers?: number
  /** Under `ignore`: a fire that is late by more is dropped, in milliseconds. Default 5 000. */
  readonly waitingTimeMs?: number
  /** When a fire that failed is tried again. None begins when the job's next fire is due. Default: no retry. */
  readonly retry?: RetryPolicy<PersistedJobContext>
  /** Wakes this process when another has scheduled something. */
  readonly notifier?: TaskNotifier
  /** Hears of jobs that failed. Default `console.error`. */
  readonly onLog?: JobLog
}

const names = optionNames<PersistedJobsOptions<never, never>>('persisted jobs', {
  repository: true,
  transactions: true,
  handlers: true,
  topic: true,
  workers: true,
  waitingTimeMs: true,
  retry: true,
  notifier: true,
  onLog: true,
})
const jobNames = optionNames<PersistedJobOptions>('a persisted job', {
  id: true,
  intervalMs: true,
  timer: true,
  start: true,
  end: true,
  maxCount: true,
  onError: true,
  whenLate: true,
})
const onceNames = optionNames<PersistedOnceOptions>('a persisted job that runs once', { id: true, whenLate: true })

/** The first fire of an interval, from when it is scheduled. */
const soonMs = 250

/**
 * Jobs that are kept in the database: they outlive the process, and of several processes one runs each fire. What is scheduled is the name of a
 * handler.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const jobs = new PersistedJobs({ repository: tasks, transactions, handlers: { report: ({ scheduledFor }) => report(scheduledFor) } })
 * await jobs.start(node)
 * await jobs.schedule('report', { id: 'daily report', timer: calendar('Mon..Fri 02:30 Europe/Oslo') })
 */
export class PersistedJobs<Transaction, E extends Execution = Execution>
  implements Jobs<string, PersistedJobOptions>, AsyncDisposable
{
  readonly #options: Required<Omit<PersistedJobsOptions<Transaction, E>, 'retry' | 'notifier'>> &
    Pick<PersistedJobsOptions<Transaction, E>, 'retry'>
  /** Awaiting its answers is right, whatever the driver. */
  readonly #timers: PeriodicTasks<Transaction>
  readonly #scheduler: PeriodicScheduler<Transaction, E>
  readonly #now: (transaction: Transaction) => unknown
  #manager: TaskManager<Transaction> | undefined

  constructor(options: PersistedJobsOptions<Transaction, E>) {
    checkNames(names, options)
    const { topic = 'jobs', workers = 5, waitingTimeMs = 5_000, onLog = logToConsole } = options
    this.#options = { ...options, topic, workers, waitingTimeMs, onLog: safeLog(onLog) }
    const { repository, transactions, notifier } = options
    checkText('topic', topic, periodicLimits.nameLength)
    this.#timers = periodicTasks(repository, { scope: topic }) as unknown as PeriodicTasks<Transaction>
    this.#scheduler = new PeriodicScheduler({ repository, transactions, ...(notifier && { notifier }) })
    this.#now = repository.verb((context) => nowOf(context, topic))
  }

  /**
   * Makes the topic, has the node process it, and fires what is due. Schedule afterwards.
   *
   * @throws TaskError LIFECYCLE if it was started before; what `process` and `start` of node and scheduler throw
   */
  async start(node: TaskNode<Transaction>): Promise<void> {
    const { repository, transactions, topic, workers, retry, handlers, onLog } = this.#options
    await transactions(
      async (transaction) => void (await repository.initialize(transaction, topic, { condition: 'singular-by-identifier' })),
    )
    const find = (id: string): Promise<PeriodicTaskInfo | undefined> =>
      transactions<PeriodicTaskInfo | undefined>(async (transaction) => await this.#timers.get(transaction, id))
    const handle: SingleHandler<Transaction> = (task: HeldTask, { signal }) =>
      runJob(task, signal, { handlers, onLog, ...(retry && { retry }), find, unschedule: (id) => this.unschedule(id) })
    this.#manager = node.process(topic, { size: workers, handler: eachTask(handle, { concurrency: workers }) })
    await this.#scheduler.start()
  }

  async schedule(handler: string, given: PersistedJobOptions): Promise<Job> {
    checkNames(jobNames, given)
    const { id = randomUUID(), ...options } = given
    const { transactions, topic, handlers, waitingTimeMs } = this.#options
    if (!Object.hasOwn(handlers, handler)) throw invalid('work', handler, `must be one of ${Object.keys(handlers).join(', ')}`)
    const { start, end, maxCount = -1, onError = 'log-and-terminate', whenLate = 'wait' } = options
    const info = await transactions<PeriodicTaskInfo>(async (transaction) => {
      const now = Number(await this.#now(transaction))
      const first = start ?? (options.intervalMs === undefined ? undefined : new Date(now + soonMs))
      const { timer } = checkJob({ ...options, ...(first && { start: first }) } as JobTrigger, new Date(now))
      await this.#timers.add(transaction, {
        id,
        timer,
        topic,
        name: handler,
        headers: { handler, onError },
        ...(whenLate === 'wait' ? { misfire: 'catch-up' } : { misfire: 'skip', lateMs: waitingTimeMs }),
        // Of one identifier, and so one after the other.
        whileUnfinished: 'push',
        ...(first && { start: first }),
        ...(end && { end }),
        ...(maxCount !== -1 && { maxCount }),
      })
      return (await this.#timers.get(transaction, id))!
    }).catch(asJobError)
    this.#scheduler.notify()
    return toJob(info)
  }

  async scheduleOnce(handler: string, at: Date, options: PersistedOnceOptions = {}): Promise<Job> {
    checkNames(onceNames, options)
    const onError: JobErrorPolicy = 'log-and-continue'
    return this.schedule(handler, { ...options, timer: once(at), onError })
  }

  unschedule(id: string): Promise<void> {
    return this.#change(async (transaction) => void (await this.#timers.remove(transaction, id)))
  }

  pause(id: string): Promise<void> {
    return this.#change(async (transaction) => void (await this.#timers.pause(transaction, id)))
  }

  /** What it missed meanwhile is not made up for, whatever `whenLate` says. */
  resume(id: string): Promise<void> {
    return this.#change(async (transaction) => void (await this.#timers.resume(transaction, id)))
  }

  pauseAll(): Promise<void> {
    return this.#change(async (transaction) => void (await this.#timers.pauseAll(transaction)))
  }

  resumeAll(): Promise<void> {
    return this.#change(async (transaction) => void (await this.#timers.resumeAll(transaction)))
  }

  /** The jobs of which a fire is still to come. */
  async running(): Promise<readonly Job[]> {
    const list = await this.#options.transactions<PeriodicTaskInfo[]>(async (transaction) => await this.#timers.list(transaction))
    return list.filter(({ status }) => status !== 'ended').map(toJob)
  }

  /** Fires nothing more from this process, and stops processing; what runs is waited for as by the node. Other processes go on. */
  async stop(): Promise<void> {
    await this.#scheduler.stop()
    await this.#manager?.stop()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #change(work: (transaction: Transaction) => Promise<void>): Promise<void> {
    await this.#options.transactions(work).catch(asJobError)
    this.#scheduler.notify()
  }
}

function toJob({ id, fired, next, status }: PeriodicTaskInfo): Job {
  return { id, count: fired, next, paused: status === 'paused' }
}

/** By the names that jobs have for it, wherever they are kept. */
function asJobError(error: unknown): never {
  const id = isTaskError(error) ? error.data['id'] : undefined
  if (isTaskError(error, 'TIMER_UNKNOWN'))
    throw new TaskError('JOB_UNKNOWN', `There is no job "${String(id)}": it was never scheduled, is over, or was unscheduled`, {
      id,
    })
  if (isTaskError(error, 'TIMER_DUPLICATE'))
    throw new TaskError('JOB_DUPLICATE', `There is a job "${String(id)}" already: give this one another id, or unschedule that`, {
      id,
    })
  throw error
}
