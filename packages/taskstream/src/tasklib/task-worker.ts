import { checkDuration, checkInteger, checkNames, isTaskError, optionNames } from '@taskstream/task-api'
import type { Execution } from '@taskstream/task-api'
import type { StopReport } from '@taskstream/task-processor'
import { given } from '../given.ts'
import { millisecondsOf } from './registered-task.ts'
import type { TaskLib } from './task-lib.ts'

export interface TaskWorkerOptions {
  /** How many tasks are worked on at a time, 1 to 10 000. Default 1. */
  readonly concurrency?: number
  /** The longest pause between polls while nothing is to be done, in seconds, 0.001 to one day. Default 1. A task of this process starts at once. */
  readonly pollIntervalSeconds?: number
}

export interface RunOptions {
  /** The signals on which the worker shuts down, such as SIGTERM and SIGINT. Default: none. */
  readonly stopOn?: readonly NodeJS.Signals[]
}

const workerNames = optionNames<TaskWorkerOptions>('TaskWorker', { concurrency: true, pollIntervalSeconds: true })
const runNames = optionNames<RunOptions>('run', { stopOn: true })
const shutdownNames = optionNames<ShutdownOptions>('shutdown', { graceMs: true })

export interface ShutdownOptions {
  /** How long running tasks may go on, in milliseconds. Default: one day. Then their signals abort. */
  readonly graceMs?: number
}

const dayMs = 86_400_000

/**
 * Works off tasks in this process. Its stream is started by `run`, with all else that it handles.
 *
 * @example
 * const worker = new TaskWorker(lib, { concurrency: 4 })
 * await worker.run({ stopOn: ['SIGTERM', 'SIGINT'] })
 */
export class TaskWorker<Transaction, E extends Execution = 'async'> {
  readonly #lib: TaskLib<Transaction, E>
  readonly #concurrency: number
  readonly #idleMs: number
  readonly #stopped = Promise.withResolvers<void>()
  #isShutDown = false

  /** @throws TaskError ARGUMENT_INVALID */
  constructor(lib: TaskLib<Transaction, E>, options: TaskWorkerOptions = {}) {
    checkNames(workerNames, options)
    const { concurrency = 1, pollIntervalSeconds = 1 } = options
    checkInteger('concurrency', concurrency, 1, 10_000)
    this.#idleMs = millisecondsOf('pollIntervalSeconds', pollIntervalSeconds)
    checkInteger('pollIntervalSeconds', this.#idleMs, 1, dayMs)
    this.#lib = lib
    this.#concurrency = concurrency
  }

  /**
   * Works until the worker is shut down, or stopped by a signal. All functions must be registered before.
   *
   * @throws TaskError LIFECYCLE if the stream was started or stopped; errors of `stream.start`
   */
  async run(options: RunOptions = {}): Promise<void> {
    checkNames(runNames, options)
    this.#lib.handleAll(this.#concurrency, this.#idleMs)
    try {
      await this.#lib.stream.start({
        ...given({ stopOn: options.stopOn }),
        onStopped: () => this.#stopped.resolve(),
        graceMs: dayMs,
      })
    } catch (error) {
      // A worker may be shut down while it starts.
      if (!this.#isShutDown || !isTaskError(error, 'LIFECYCLE')) throw error
    }
    await this.#stopped.promise
  }

  /** Stops the stream: takes no more tasks, and waits for those that are running. @throws TaskError ARGUMENT_INVALID */
  async shutdown(options: ShutdownOptions = {}): Promise<StopReport> {
    checkNames(shutdownNames, options)
    const { graceMs = dayMs } = options
    checkDuration('graceMs', graceMs)
    this.#isShutDown = true
    try {
      return await this.#lib.stream.stop({ graceMs })
    } finally {
      this.#stopped.resolve()
    }
  }
}
