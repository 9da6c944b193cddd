import { randomUUID } from 'node:crypto'
import { checkNames, checkText, invalid, optionNames, TaskError, taskLimits } from '@taskstream/task-api'
import { every } from '@taskstream/task-timers'
import { systemWallClock } from './job-clock.ts'
import type { WallClock } from './job-clock.ts'
import { ClockJobScheduler } from './job-scheduler.ts'
import type { ClockJobSchedulerOptions } from './job-scheduler.ts'
import { checkJob } from './job-settings.ts'
import type { ClockJobStopReport } from './job-stop.ts'
import type { ClockJobContext, ClockJobFunction, ClockJobRetrying, ClockJobTrigger } from './job.ts'

/** What a listener runs: a function, or an object with a method `execute`. */
export type JobService = ClockJobFunction | { execute(context: ClockJobContext): unknown }

export interface JobListenerOptions extends ClockJobSchedulerOptions {
  /** When the services run, and what becomes of a service that fails. Each service follows the same trigger, independently of the others. */
  readonly trigger: ClockJobTrigger & ClockJobRetrying
}

export interface AttachOptions {
  /** Whether the new service replaces another one of the same name. Default false: a name that is taken is an error. */
  readonly replace?: boolean
}

const names = optionNames<JobListenerOptions>('a job listener', {
  trigger: true,
  workers: true,
  waitingTimeMs: true,
  clock: true,
  onLog: true,
  gate: true,
})
const attachNames = optionNames<AttachOptions>('attach', { replace: true })

/**
 * Runs services by one trigger, from `start` to a stop. Each service is a clock job with its own count, and all of them share the workers.
 *
 * @example
 * const listener = new JobListener({ trigger: { intervalMs: 60_000, onError: 'log-and-continue' } })
 * listener.attach(cleanUp, 'clean-up')
 * listener.start()
 */
export class JobListener {
  /** The scheduler of the services, where the id of each job is the service's name. Use it to pause a service or to change the number of workers. */
  readonly scheduler: ClockJobScheduler
  readonly #trigger: ClockJobTrigger & ClockJobRetrying
  readonly #clock: WallClock
  readonly #services = new Map<string, JobService>()
  #state: 'made' | 'started' | 'stopped' = 'made'

  /** @throws TaskError ARGUMENT_INVALID */
  constructor(given: JobListenerOptions) {
    checkNames(names, given)
    const { trigger, clock = systemWallClock, ...options } = given
    checkJob(trigger, clock.now())
    this.#trigger = trigger
    this.#clock = clock
    this.scheduler = new ClockJobScheduler({ ...options, clock })
  }

  /**
   * Adds a service. If the listener is started, the service is scheduled at once. If the trigger's `start` has passed, it begins with the next fire.
   *
   * @param name 1 to 250 characters. Default: a random UUID
   * @returns the name, which is the id of the service's job
   * @throws TaskError ARGUMENT_INVALID; JOB_DUPLICATE if the name is taken; LIFECYCLE if the listener was stopped
   */
  attach(service: JobService, name: string = randomUUID(), options: AttachOptions = {}): string {
    checkNames(attachNames, options)
    const { replace = false } = options
    if (typeof service !== 'function' && typeof service?.execute !== 'function')
      throw invalid('service', service, 'must be a function, or have a method execute')
    checkText('name', name, taskLimits.topicLength)
    this.#checkNotStopped()
    if (this.#services.has(name) && !replace) {
      const message = `A service "${name}" is attached already: choose another name, detach that service, or give replace: true`
      throw new TaskError('JOB_DUPLICATE', message, { id: name })
    }
    this.#unschedule(name)
    if (this.#state === 'started') this.#schedule(name, service, this.#triggerFromNow())
    this.#services.set(name, service)
    return name
  }

  /** Removes a service, under each of its names. A fire that runs goes on. @throws TaskError JOB_UNKNOWN if the service is not attached */
  detach(service: JobService): void {
    const names = [...this.#services].filter(([, attached]) => attached === service).map(([name]) => name)
    if (names.length === 0)
      throw new TaskError('JOB_UNKNOWN', 'The service is not attached to this listener: was it detached, or replaced?')
    for (const name of names) {
      this.#services.delete(name)
      this.#unschedule(name)
    }
  }

  /**
   * Schedules the attached services.
   *
   * @throws TaskError LIFECYCLE if the listener was started or stopped before; ARGUMENT_INVALID if the trigger's `start` or `end` has passed meanwhile
   */
  start(): void {
    this.#checkNotStopped()
    if (this.#state === 'started') throw new TaskError('LIFECYCLE', 'The listener is started already')
    checkJob(this.#trigger, this.#clock.now())
    this.#state = 'started'
    for (const [name, service] of this.#services) this.#schedule(name, service, this.#trigger)
  }

  /** Detaches every service, and waits until all running fires have ended. A call of `immediateStop` ends the waiting. */
  gracefulStop(): Promise<ClockJobStopReport> {
    return this.#stop(taskLimits.durationMs)
  }

  /** Detaches every service, and aborts the signals of running fires. Resolves when these have ended, or after two seconds. */
  immediateStop(): Promise<ClockJobStopReport> {
    return this.#stop(0)
  }

  /** Stops gracefully, and after ten seconds immediately. */
  async [Symbol.asyncDispose](): Promise<void> {
    // A graceful stop that is under way has no end of its own.
    const cancel = this.#clock.after(10_000, () => void this.immediateStop())
    try {
      await this.gracefulStop()
    } finally {
      cancel()
    }
  }

  #stop(graceMs: number): Promise<ClockJobStopReport> {
    this.#state = 'stopped'
    this.#services.clear()
    return this.scheduler.stop({ graceMs })
  }

  #schedule(name: string, service: JobService, trigger: ClockJobTrigger & ClockJobRetrying): void {
    const work: ClockJobFunction = typeof service === 'function' ? service : (context) => service.execute(context)
    this.scheduler.schedule(work, { ...trigger, id: name })
  }

  /** Unschedules the job of a service, unless the job is over or was terminated. */
  #unschedule(name: string): void {
    if (this.scheduler.running().some(({ id }) => id === name)) this.scheduler.unschedule(name)
  }

  /** The trigger for a service that is attached now. If the trigger's `start` has passed, the service joins the same grid. */
  #triggerFromNow(): ClockJobTrigger & ClockJobRetrying {
    const { start, ...started } = this.#trigger
    if (!start || start >= this.#clock.now()) return this.#trigger
    const { intervalMs, ...rest } = started
    return intervalMs === undefined ? started : { ...rest, timer: every(intervalMs, { from: start }) }
  }

  #checkNotStopped(): void {
    if (this.#state === 'stopped') throw new TaskError('LIFECYCLE', 'The listener was stopped: make a new one')
  }
}
