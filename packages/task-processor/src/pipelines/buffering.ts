import { AsyncLocalStorage } from 'node:async_hooks'
import { checkGiven, checkInteger, invalid, optionNames, TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { warn } from '../core/listener.ts'
import type { PendingOnClose } from './pending-batch.ts'
import { openHandler } from '../core/task-handler.ts'
import type { Decisions, HandlerContext, OpenHandler, TaskHandler, TaskHandlerFactory } from '../core/task-handler.ts'

/** How full a buffer is. */
export interface BufferState {
  readonly topic: string
  /** Batches that wait for a worker. */
  readonly waiting: number
  /** Batches that are being handled. */
  readonly working: number
}

export interface BufferingOptions<Transaction> {
  /** The most batches that wait for a worker, 0 to 10 000. */
  readonly buffer: number
  /** The most batches that are handled at a time, 1 to 1000. Each worker has its own open handler. */
  readonly workers: number
  /** The handler of the batches. A handler with a state is opened for each worker. */
  readonly handler: TaskHandler<Transaction>
  /**
   * What is done with batches that still wait when the topic is stopped. `'handle'` (default) handles them within the grace of the stop. `'return'` hands
   * them back for another node. `'fail'` fails their tasks with SHUTDOWN.
   */
  readonly pendingOnClose?: PendingOnClose
  /** Called at every change. A process warning reports its errors. */
  readonly observer?: (state: BufferState) => void
}

const names = optionNames<BufferingOptions<never>>('buffering', {
  buffer: true,
  workers: true,
  handler: true,
  pendingOnClose: true,
  observer: true,
})

/** A batch on its way to a worker. */
interface Waiting<Transaction> {
  readonly batch: readonly HeldTask[]
  readonly context: HandlerContext<Transaction>
  /** Runs in the context of whoever brought the batch: what AsyncLocalStorage had there, it has in the worker. */
  readonly within: <Result>(work: () => Result) => Result
  readonly resolve: (decisions: Decisions | void | Promise<Decisions | void>) => void
  readonly reject: (error: unknown) => void
}

/**
 * Makes a handler that keeps batches ready for a number of workers, so that no worker waits for a poll. No more batches are polled than fit.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * node.process('invoices', { size: 100, handler: buffering({ buffer: 5, workers: 10, handler: eachTask(sendInvoice) }) })
 */
export function buffering<Transaction>(options: BufferingOptions<Transaction>): TaskHandlerFactory<Transaction> {
  checkGiven(names, options)
  const { buffer, workers, handler, pendingOnClose = 'handle' } = options
  checkInteger('buffer', buffer, 0, 10_000)
  checkInteger('workers', workers, 1, 1_000)
  if (typeof handler !== 'function' && typeof handler?.open !== 'function')
    throw invalid('handler', handler, 'must be a function of a batch, or something that opens one')
  if (!['handle', 'return', 'fail'].includes(pendingOnClose))
    throw invalid('pendingOnClose', pendingOnClose, "must be 'handle', 'return' or 'fail'")
  return { open: (topic) => new BatchBuffer(topic, { ...options, pendingOnClose }) }
}

class BatchBuffer<Transaction> implements OpenHandler<Transaction> {
  readonly capacity: number
  readonly #topic: string
  readonly #options: BufferingOptions<Transaction>
  readonly #delegates: OpenHandler<Transaction>[] = []
  /** Delegates without a batch. */
  readonly #idle: OpenHandler<Transaction>[]
  readonly #waiting: Waiting<Transaction>[] = []
  readonly #working: Set<Promise<void>> = new Set()
  #closed: TaskError | undefined

  constructor(topic: string, options: BufferingOptions<Transaction>) {
    this.#topic = topic
    this.#options = options
    this.capacity = options.buffer + options.workers
    try {
      for (let worker = 0; worker < options.workers; worker++) this.#delegates.push(openHandler(options.handler, topic))
    } catch (error) {
      this.close().catch((closing: unknown) => warn('The close of a buffer', closing))
      throw error
    }
    this.#idle = [...this.#delegates]
  }

  readonly handle = (batch: readonly HeldTask[], context: HandlerContext<Transaction>): Promise<Decisions | void> => {
    if (this.#closed) return Promise.reject(this.#closed)
    const { promise, resolve, reject } = Promise.withResolvers<Decisions | void>()
    const waiting = { batch, context, resolve, reject, within: AsyncLocalStorage.snapshot() }
    this.#waiting.push(waiting)
    // An aborted batch leaves the buffer at once.
    context.signal.addEventListener('abort', () => this.#withdraw(waiting))
    this.#work()
    this.#observe()
    return promise
  }

  /** @throws AggregateError of what closing the delegates threw: each is closed */
  async close(): Promise<void> {
    // mutants: equivalent assignment, closed once more it says the same
    this.#closed ??= new TaskError('SHUTDOWN', `The buffer of topic "${this.#topic}" is closed`, { topic: this.#topic })
    const closed = this.#closed
    const { pendingOnClose } = this.#options
    for (const { batch, resolve, reject } of pendingOnClose === 'handle' ? [] : this.#waiting.splice(0)) {
      if (pendingOnClose === 'return') reject(closed)
      else resolve(new Map(batch.map((task) => [task, TaskDecision.failure(closed)])))
    }
    this.#observe()
    while (this.#working.size > 0) await Promise.all(this.#working)
    const results = await Promise.allSettled(this.#delegates.splice(0).map(async (delegate) => delegate.close?.()))
    const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
    if (errors.length > 0)
      throw new AggregateError(errors, `${errors.length} handlers of topic "${this.#topic}" could not be closed`)
  }

  /** Gives waiting batches to idle workers. */
  #work(): void {
    while (this.#waiting.length > 0 && this.#idle.length > 0) {
      const delegate = this.#idle.shift()!
      const work = this.#run(delegate, this.#waiting.shift()!)
      this.#working.add(work)
      void work.then(() => {
        this.#working.delete(work)
        this.#idle.push(delegate)
        this.#work()
        this.#observe()
      })
    }
  }

  /** Never rejects: what a delegate throws is its batch's alone. */
  async #run(delegate: OpenHandler<Transaction>, waiting: Waiting<Transaction>): Promise<void> {
    const { batch, context, within, resolve, reject } = waiting
    try {
      resolve(await within(() => delegate.handle(batch, context)))
    } catch (error) {
      reject(error)
    }
  }

  #withdraw(waiting: Waiting<Transaction>): void {
    const index = this.#waiting.indexOf(waiting)
    if (index < 0) return
    this.#waiting.splice(index, 1)
    // Whatever the reason, nothing was begun and nothing is decided: all of it is handed back.
    waiting.resolve(new Map())
    this.#observe()
  }

  #observe(): void {
    const { observer } = this.#options
    try {
      const seen: unknown = observer?.({ topic: this.#topic, waiting: this.#waiting.length, working: this.#working.size })
      if (seen instanceof Promise) seen.catch((error: unknown) => warn('The observer of a buffer', error))
    } catch (error) {
      warn('The observer of a buffer', error)
    }
  }
}
