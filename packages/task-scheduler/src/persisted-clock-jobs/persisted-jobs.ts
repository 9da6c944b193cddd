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
import type { FiredOccurrence } from '../periodic/fire.ts'
import { PeriodicScheduler } from '../periodic/periodic-scheduler.ts'
import type { PeriodicListener } from '../periodic/periodic-scheduler.ts'
import type { PeriodicTaskInfo } from '../periodic/periodic-task.ts'
import { periodicTasks } from '../periodic/periodic-tasks.ts'
import type { PeriodicTasks } from '../periodic/periodic-tasks.ts'
import { misfireOf } from './late-policy.ts'
import { checkPersistedClockJobsOptions } from './options.ts'
import type { CheckedOptions, PersistedClockJobsOptions } from './options.ts'
import { runJob } from './run-job.ts'

/** The times and policies of a job. They have no `overlap`, because two fires of one persisted job never run at the same time. */
export type PersistedClockJobOptions = Omit<ClockJobTrigger, 'overlap'> & {
  /** The name of the job, 1 to 200 characters. Default: a random UUID. */
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

/** After how many milliseconds an interval fires first, unless it has a `start`. */
const soonMs = 250

/**
 * Clock jobs that are kept in the database. They outlive the process, and each fire runs in one of several processes. A job names a handler, which
 * every process has.
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
  /** The type says promises; a synchronous driver returns values, which can be awaited too. */
  readonly #timers: PeriodicTasks<Transaction>
  readonly #scheduler: PeriodicScheduler<Transaction, E>
  #manager: TaskManager<Transaction> | undefined
  #starting: Promise<void> | undefined
  #isStopped = false

  /** The missed fires for which the job's policy is being looked up, to see whether they are logged. */
  readonly #missed = new Set<Promise<void>>()

  constructor(options: PersistedClockJobsOptions<Transaction, E>) {
    this.#options = checkPersistedClockJobsOptions(options)
    const { repository, transactions, notifier, topic } = this.#options
    this.#timers = periodicTasks(repository, { scope: topic }) as unknown as PeriodicTasks<Transaction>
    const listener: PeriodicListener = { onFired: (fired) => this.#fired(fired) }
    this.#scheduler = new PeriodicScheduler({ repository, transactions, listener, ...(notifier && { notifier }) })
  }

  /**
   * Initialises the topic, lets the node process it, and begins to fire due jobs. Schedule jobs afterwards.
   *
   * @throws TaskError LIFECYCLE if this was started or stopped before, or is stopped meanwhile; also the errors of the node's `process`, and of the
   * scheduler's `start`
   */
  async start(node: TaskNode<Transaction>): Promise<void> {
    if (this.#starting || this.#isStopped)
      throw new TaskError('LIFECYCLE', 'Persisted jobs can be started only once: make new ones to start again')
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
        // The fires of a job have one identifier, so they run one after the other.
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

  /** Resumes a paused job. The fires that the job missed meanwhile are dropped, whatever `whenLate` says. @throws TaskError JOB_UNKNOWN */
  resume(id: string): Promise<void> {
    return this.#change(async (transaction) => void (await this.#timers.resume(transaction, id)))
  }

  pauseAll(): Promise<void> {
    return this.#change(async (transaction) => void (await this.#timers.pauseAll(transaction)))
  }

  resumeAll(): Promise<void> {
    return this.#change(async (transaction) => void (await this.#timers.resumeAll(transaction)))
  }

  /** The jobs with a fire that is still to come. */
  async running(): Promise<readonly ClockJob[]> {
    const list = await this.#options.transactions<PeriodicTaskInfo[]>(async (transaction) => await this.#timers.list(transaction))
    return list.filter(({ status }) => status !== 'ended').map(toJob)
  }

  /** Stops firing and processing jobs in this process, and waits for running jobs as the node does. Other processes go on. */
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

  /** Handles a fire of the scheduler, which also fires timers of other scopes. */
  #fired({ timer, outcome, occurrence }: FiredOccurrence): void {
    if (timer.scope !== this.#options.topic) return
    if (outcome === 'submitted') this.#manager?.wake()
    if (outcome !== 'late') return
    const telling = this.#tellMissed(timer.id, occurrence).finally(() => this.#missed.delete(telling))
    this.#missed.add(telling)
  }

  /** Logs a missed fire if its job says so. Never throws: if the job cannot be looked up, the fire is logged too. */
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

/** Translates errors of timers into errors of jobs, so that persisted jobs have the same errors as other jobs. */
function asJobError(error: unknown): never {
  const id = isTaskError(error) ? error.data['id'] : undefined
  if (isTaskError(error, 'TIMER_UNKNOWN'))
    throw new TaskError('JOB_UNKNOWN', `There is no job "${String(id)}": it was never scheduled, is over, or was unscheduled`, {
      id,
    })
  if (isTaskError(error, 'TIMER_DUPLICATE'))
    throw new TaskError('JOB_DUPLICATE', `There is a job "${String(id)}" already: choose another id, or unschedule that job`, {
      id,
    })
  throw error
}
