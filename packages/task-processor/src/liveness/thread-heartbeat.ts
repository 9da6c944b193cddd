import { Worker } from 'node:worker_threads'
import type { WorkerOptions } from 'node:worker_threads'
import { checkInteger, TaskError } from '@taskstream/task-api'
import { every, systemClock } from '../core/clock.ts'
import { Lease } from './lease.ts'
import type { Beating, LeaseOptions } from './lease.ts'
import { Condition } from '../core/listener.ts'
import type { ThreadData, ThreadMessage } from './thread-messages.ts'
import { hrtimeMs } from './thread-messages.ts'
import { heartbeatWorker } from './thread-program.ts'

/** Sends heartbeats in the thread. The default export of the thread's module makes it. */
export interface ThreadBeat {
  /** Sends a heartbeat of the owner, over a connection of the thread's own. A promise is waited for. */
  heartbeat(): unknown
  close?(): void | PromiseLike<void>
}

/** The default export of a heartbeat thread's module. */
export type OpenThreadBeat = (owner: string) => ThreadBeat | Promise<ThreadBeat>

export interface HeartbeatThread {
  /** The module whose default export is an `OpenThreadBeat`. A bundler must build it as a separate entry under this name. */
  readonly module: URL
  /**
   * How long the event loop may stand still before the thread stops its heartbeats too, in milliseconds: at least two heartbeat intervals. Default: ten
   * leases. Without this limit, a handler that never ends would keep its tasks for ever.
   */
  readonly hungMs?: number
  /** Options of the worker thread. By default the thread runs with the options of this process. */
  readonly worker?: WorkerOptions
}

/** How long the thread may take to end before it is terminated. */
const closingMs = 1_000

export interface ThreadHeartbeatOptions extends Omit<LeaseOptions, 'clock'> {
  readonly owner: string
  readonly intervalMs: number
  readonly thread: HeartbeatThread
  /** Called when the owner was removed as dead. Its tasks are gone, and it may be registered again. */
  readonly onUnknown: () => void
}

/** Sends heartbeats from a separate thread, so that a handler that computes for longer than the lease keeps its tasks. */
export class ThreadHeartbeat implements Beating {
  readonly #options: ThreadHeartbeatOptions
  readonly #lease: Lease
  readonly #condition: Condition
  /** Times that the two threads share: when this thread was last alive, and when the last successful beat was sent. */
  readonly #shared = new BigInt64Array(new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT))
  #worker: Worker | undefined
  #end: (() => void) | undefined
  #cancelReopening = (): void => {}

  constructor(options: ThreadHeartbeatOptions) {
    const { hungMs } = options.thread
    if (hungMs !== undefined) checkInteger('heartbeatThread.hungMs', hungMs, 2 * options.intervalMs, 7 * 86_400_000)
    this.#options = options
    this.#lease = new Lease({ ...options, clock: { monotonicMs: () => hrtimeMs(process.hrtime.bigint()) } })
    this.#condition = new Condition(options.listener, 'heartbeat')
  }

  get holds(): boolean {
    // The time is read from shared memory: after a standstill of the event loop, messages of the thread have not arrived yet.
    const sent = Atomics.load(this.#shared, 1)
    if (sent > 0n) this.#lease.renew(hrtimeMs(sent))
    return this.#lease.holds
  }

  async start(): Promise<void> {
    this.#lease.renew(hrtimeMs(process.hrtime.bigint()))
    this.#live()
    this.#end = every(systemClock, this.#options.intervalMs, () => {
      this.#live()
      void this.holds
    })
    await this.#open()
  }

  async stop(): Promise<void> {
    this.#end?.()
    this.#cancelReopening()
    const worker = this.#worker
    this.#worker = undefined
    if (!worker) return
    const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker thread, not a window
    worker.postMessage('close')
    // A beat under way may hang as long as the database does, and nobody needs it any more.
    const cancel = systemClock.after(closingMs, () => void worker.terminate())
    await exited
    cancel()
  }

  #live(): void {
    Atomics.store(this.#shared, 0, process.hrtime.bigint())
  }

  async #open(): Promise<void> {
    const { owner, intervalMs, leaseMs, thread } = this.#options
    const { module, hungMs = 10 * leaseMs, worker: options } = thread
    const workerData: ThreadData = { owner, intervalMs, hungMs, module: module.href, shared: this.#shared }
    const worker = new Worker(heartbeatWorker, { ...options, workerData })
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    worker.on('message', (message: ThreadMessage) => {
      // Any message shows that the thread runs, even if the database does not answer.
      resolve()
      if (message.beating) this.#condition.worked()
      else this.#refused(message)
    })
    worker.on('error', (error) => {
      const failed = threadFailed(module, error as Error)
      reject(failed)
      this.#condition.failed(failed)
    })
    worker.on('exit', (code) => {
      reject(threadFailed(module, new Error(`it ended with code ${code} before its first beat`)))
      if (this.#worker !== worker) return
      this.#worker = undefined
      // The thread ended by itself, so another is opened. If that fails too, the lease runs out.
      this.#cancelReopening = systemClock.after(intervalMs, () => void this.#open().catch(() => {}))
    })
    this.#worker = worker
    await promise
  }

  #refused({ message, code }: Extract<ThreadMessage, { beating: false }>): void {
    if (code === 'OWNER_UNKNOWN') this.#options.onUnknown()
    this.#condition.failed(Object.assign(new Error(message), { code }))
  }
}

function threadFailed({ protocol, pathname }: URL, cause: Error): TaskError {
  // The query of the module's address is left out, as it may contain secrets.
  const module = `${protocol}//${pathname}`
  return new TaskError(
    'THREAD_FAILED',
    `The heartbeat's thread of ${module} failed: is the module there? A bundle has it as an entry of its own (${cause.message})`,
    { module },
    { cause },
  )
}
