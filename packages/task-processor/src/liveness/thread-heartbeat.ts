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

/** What beats in the thread: the default export of its module makes one. */
export interface ThreadBeat {
  /** Sends a heartbeat of the owner, over a connection of the thread's own. */
  heartbeat(): void | Promise<void>
  close?(): void | PromiseLike<void>
}

/** What the module of a heartbeat thread exports as its default. */
export type OpenThreadBeat = (owner: string) => ThreadBeat | Promise<ThreadBeat>

export interface HeartbeatThread {
  /** The module whose default export is an `OpenThreadBeat`. In a bundle it is an entry of its own, as this names it. */
  readonly module: URL
  /**
   * How long the event loop may stand still, in milliseconds, before the thread falls silent as well: handlers that never let go must
   * not be alive for ever. At least two intervals; default ten leases.
   */
  readonly hungMs?: number
  /** Handed to the thread. Default: as this process was started. */
  readonly worker?: WorkerOptions
}

/** How long the thread may take to end. */
const closingMs = 1_000

export interface ThreadHeartbeatOptions extends Omit<LeaseOptions, 'clock'> {
  readonly owner: string
  readonly intervalMs: number
  readonly thread: HeartbeatThread
  /** The owner was removed as dead: what was held is gone, and it may be registered anew. */
  readonly onUnknown: () => void
}

/** Beats from a thread of its own: a handler that computes for longer than the lease does not lose its tasks. */
export class ThreadHeartbeat implements Beating {
  readonly #options: ThreadHeartbeatOptions
  readonly #lease: Lease
  readonly #condition: Condition
  /** What the two threads know of each other: when this one was alive, and when the last beat was sent that came through. */
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
    // Read, not told: when the event loop goes on after it stood still, no message has been received yet.
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
    // A beat under way may hang for as long as the database does, and is of no more use.
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
      // It runs; whether the database answers is another matter.
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
      // It ended without being asked to: the next does better, or the lease runs out.
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
  // What its address has in its query is its own, and may be secret.
  const module = `${protocol}//${pathname}`
  return new TaskError(
    'THREAD_FAILED',
    `The heartbeat's thread of ${module} failed: is the module there? A bundle has it as an entry of its own (${cause.message})`,
    { module },
    { cause },
  )
}
