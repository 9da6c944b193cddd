import { randomUUID } from 'node:crypto'
import { checkOptions, invalid, isTaskError, TaskError } from '@taskstream/task-api'
import type { Execution, HeldTask } from '@taskstream/task-api'
import { eachTask } from '@taskstream/task-processor'
import type { SingleHandler, TaskManager, TaskNode } from '@taskstream/task-processor'
import { checkJob } from '../clock-jobs/job-settings.ts'
import type { ClockJob, ClockJobErrorPolicy, ClockJobLatePolicy, ClockJobTrigger } from '../clock-jobs/job.ts'
import { missed } from '../clock-jobs/job-log.ts'
import type { ClockJobs } from '../clock-jobs/jobs.ts'
import { once } from '@taskstream/task-timers'
import type { FiredOccurrence } from '../periodic/fire-timer.ts'
import { PeriodicScheduler } from '../periodic/periodic-scheduler.ts'
import type { PeriodicListener } from '../periodic/periodic-scheduler.ts'
import type { PeriodicTaskInfo } from '../periodic/periodic-task.ts'
import { periodicTasks } from '../periodic/periodic-tasks.ts'
import type { PeriodicTasks } from '../periodic/periodic-tasks.ts'
import { misfireOf } from './late-policy.ts'
import { checkPersistedClockJobsOptions } from './options.ts'
import type { CheckedOptions, PersistedClockJobsOptions } from './options.ts'
import { runJob } from './run-job.ts'

/** A job's times and policies. Jobs do not run beside themselves. */
export type PersistedClockJobOptions = Omit<ClockJobTrigger, 'overlap'> & {
  /** Names the job, 1 to 200 characters. Default: a random UUID. */
  readonly id?: string
} & (
    | { readonly intervalMs: number; readonly timer?: never }
    | { readonly timer: NonNullable<ClockJobTrigger['timer']>; readonly intervalMs?: never }
  )

const names: Record<keyof Omit<PersistedClockJobOptions, 'id'>, true> = {
  intervalMs: true,
  timer: true,
  start: true,
  end: true,
  maxCount: true,
  onError: true,
  whenLate: true,
}

/** The first fire of an interval, from when it is scheduled. */
const soonMs = 250

/**
 * Jobs that are kept in the database: they outlive the process, and of several processes one runs each fire. What is scheduled is the name of a
 * handler.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * const jobs = new PersistedClockJobs({ repository: tasks, transactions, handlers: { report: ({ scheduledFor }) => report(scheduledFor) } })
 * await jobs.start(node)
 * await jobs.schedule('report', { id: 'daily report', timer: calendar('Mon..Fri 02:30 Europe/Oslo') })
 */
export class PersistedClockJobs<Transaction, E extends Execution = Execution>
  implements ClockJobs<string, PersistedClockJobOptions>, AsyncDisposable
{
  readonly #options: CheckedOptions<Transaction, E>
  /** Awaiting its answers is right, whatever the driver. */
  readonly #timers: PeriodicTasks<Transaction>
  readonly #scheduler: PeriodicScheduler<Transaction, E>
  #manager: TaskManager<Transaction> | undefined
  #starting: Promise<void> | undefined
  #isStopped = false

  /** What was missed, as long as it is looked for whether that is logged. */
  readonly #missed = new Set<Promise<void>>()

  constructor(options: PersistedClockJobsOptions<Transaction, E>) {
    this.#options = checkPersistedClockJobsOptions(options)
    const { repository, transactions, notifier, topic } = this.#options
    this.#timers = periodicTasks(repository, { scope: topic }) as unknown as PeriodicTasks<Transaction>
    const listener: PeriodicListener = { onFired: (fired) => this.#fired(fired) }
    this.#scheduler = new PeriodicScheduler({ repository, transactions, listener, ...(notifier && { notifier }) })
  }

  /**
   * Makes the topic, has the node process it, and fires what is due. Schedule afterwards.
   *
   * @throws TaskError LIFECYCLE if it was started or stopped before, or is stopped meanwhile; what `process` and `start` of node and scheduler throw
   */
  async start(node: TaskNode<Transaction>): Promise<void> {
    if (this.#starting || this.#isStopped)
      throw new TaskError('LIFECYCLE', 'Persisted jobs start once: make new ones to start again')
    const starting = this.#start(node)
    this.#starting = starting.catch(() => {})
    return starting
  }

  async #start(node: TaskNode<Transaction>): Promise<void> {
    const { repository, transactions, topic, workers, retry, handlers, onLog, retainMs } = this.#options
    await transactions(
      async (transaction) => void (await repository.initialize(transaction, topic, { condition: 'singular-by-identifier' })),
    )
    const now = (): Promise<number> =>
      transactions<number>(async (transaction) => Number(await repository.timers.now(transaction, topic)))
    const running = {
      handlers,
      onLog,
      now,
      find: (id: string) => this.#find(id),
      unschedule: (id: string) => this.unschedule(id),
    }
    const handle: SingleHandler<Transaction> = (task: HeldTask, { signal }) =>
      runJob(task, signal, { ...running, ...(retry && { retry }) })
    this.#manager = node.process(topic, { size: workers, retainMs, handler: eachTask(handle, { concurrency: workers }) })
    try {
      // A scheduler that was stopped does not start.
      await this.#scheduler.start()
    } catch (error) {
      await this.#manager.stop()
      throw error
    }
  }

  async schedule(handler: string, { id = randomUUID(), ...options }: PersistedClockJobOptions): Promise<ClockJob> {
    const { repository, transactions, topic, handlers, waitingTimeMs } = this.#options
    if (!Object.hasOwn(handlers, handler)) throw invalid('work', handler, `must be one of ${Object.keys(handlers).join(', ')}`)
    checkOptions('a persisted job', options, names)
    const { start, end, maxCount = -1, onError = 'log-and-terminate', whenLate = 'wait' } = options
    const info = await transactions<PeriodicTaskInfo>(async (transaction) => {
      const now = Number(await repository.timers.now(transaction, topic))
      const first = start ?? (options.intervalMs === undefined ? undefined : new Date(now + soonMs))
      const { timer } = checkJob({ ...options, ...(first && { start: first }) } as ClockJobTrigger, new Date(now))
      await this.#timers.add(transaction, {
        id,
        timer,
        topic,
        name: handler,
        headers: { handler, onError, whenLate },
        ...misfireOf(whenLate, waitingTimeMs),
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

  async scheduleOnce(
    handler: string,
    at: Date,
    options: { readonly id?: string; readonly whenLate?: ClockJobLatePolicy } = {},
  ): Promise<ClockJob> {
    const onError: ClockJobErrorPolicy = 'log-and-continue'
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
  async running(): Promise<readonly ClockJob[]> {
    const list = await this.#options.transactions<PeriodicTaskInfo[]>(async (transaction) => await this.#timers.list(transaction))
    return list.filter(({ status }) => status !== 'ended').map(toJob)
  }

  /** Fires nothing more from this process, and stops processing; what runs is waited for as by the node. Other processes go on. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#scheduler.stop()
    await this.#starting
    await Promise.all(this.#missed)
    await this.#manager?.stop()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  #find(id: string): Promise<PeriodicTaskInfo | undefined> {
    const { transactions } = this.#options
    return transactions<PeriodicTaskInfo | undefined>(async (transaction) => await this.#timers.get(transaction, id))
  }

  /** The scheduler fires timers of others too. */
  #fired({ timer, outcome, occurrence }: FiredOccurrence): void {
    if (timer.scope !== this.#options.topic) return
    if (outcome === 'submitted') this.#manager?.wake()
    if (outcome !== 'late') return
    const telling = this.#tellMissed(timer.id, occurrence).finally(() => this.#missed.delete(telling))
    this.#missed.add(telling)
  }

  /** Never throws: what cannot be looked up is told rather than lost. */
  async #tellMissed(id: string, scheduledFor: Date): Promise<void> {
    const { onLog } = this.#options
    try {
      const info = await this.#find(id)
      if (info?.headers?.['whenLate'] === 'log-and-ignore') onLog(missed(id, scheduledFor, info.next))
    } catch (error) {
      onLog({ ...missed(id, scheduledFor, undefined), error })
    }
  }

  async #change(work: (transaction: Transaction) => Promise<void>): Promise<void> {
    await this.#options.transactions(work).catch(asJobError)
    this.#scheduler.notify()
  }
}

function toJob({ id, fired, next, status }: PeriodicTaskInfo): ClockJob {
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
