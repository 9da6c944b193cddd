import { checkTopic, TaskError } from '@taskstream/task-api'
import type { Batch, BatchEnvironment } from './batch.ts'
import { within } from './clock.ts'
import type { Leftovers } from './leftovers.ts'
import type { TaskLimiter } from './limiter.ts'
import { PollLoop } from './poll-loop.ts'
import type { Processing } from './process-options.ts'
import { SharedCompletions } from './shared-completions.ts'
import { checkStopOptions, nothingHeld, reportOf } from './stop-report.ts'
import type { StopOptions, StopReport } from './stop-report.ts'
import { openHandler } from './task-handler.ts'
import type { OpenHandler } from './task-handler.ts'

/** What a manager has of its node. */
export interface ManagerEnvironment<Transaction> extends Omit<
  BatchEnvironment<Transaction>,
  'handler' | 'completions' | 'retry' | 'timeoutMs' | 'abortMs'
> {
  readonly limiter: TaskLimiter
  readonly leftovers: Leftovers<Transaction>
  readonly defaultIdleMs: () => number
  readonly mayPoll: () => boolean
  /** Whether topics may be started: the node runs. */
  readonly mayStart: () => boolean
}

/** One run of a topic, from a start to a stop. */
interface Running<Transaction> {
  readonly loop: PollLoop<Transaction>
  readonly handler: OpenHandler<Transaction>
}

/** Processes one topic: made by `TaskNode.process`. Stopped, it can be started again for as long as its node runs. */
export class TaskManager<Transaction> {
  readonly topic: string
  /** The options, checked, with their defaults. */
  readonly processing: Processing<Transaction>
  readonly #environment: ManagerEnvironment<Transaction>
  #running: Running<Transaction> | undefined
  #stopping: Promise<StopReport> | undefined

  constructor(environment: ManagerEnvironment<Transaction>, processing: Processing<Transaction>) {
    checkTopic(environment.topic)
    this.topic = environment.topic
    this.processing = processing
    this.#environment = environment
  }

  /** Whether it polls. */
  get isActive(): boolean {
    return this.#running !== undefined && this.#stopping === undefined
  }

  /** The batches that are held. */
  get batches(): Iterable<Batch> {
    return this.#running?.loop.batches ?? []
  }

  /** How many batches it may hold at a time, as far as is known before its handler is opened. */
  get concurrency(): number {
    return this.#running ? concurrencyOf(this.processing, this.#running.handler) : (this.processing.concurrency ?? 2)
  }

  /**
   * Begins to poll. A stop under way is waited for.
   *
   * @returns false if it does already
   * @throws TaskError LIFECYCLE unless the node runs; what opening the handler throws
   */
  async start(): Promise<boolean> {
    await this.#stopping
    const { topic, leftovers } = this.#environment
    await leftovers.enter(topic)
    try {
      const running = this.#open()
      running?.loop.start()
      if (!running) leftovers.leave(topic)
      return running !== undefined
    } catch (error) {
      leftovers.leave(topic)
      throw error
    }
  }

  /** @returns nothing if it runs already */
  #open(): Running<Transaction> | undefined {
    if (this.isActive) return undefined
    const { topic, mayStart } = this.#environment
    if (!mayStart()) throw new TaskError('LIFECYCLE', `The node of topic "${topic}" is not running: start it first`, { topic })
    const handler = openHandler(this.processing.handler, topic)
    this.#running = { loop: this.#loop(handler), handler }
    return this.#running
  }

  /**
   * Starts, and has it stored that the topic is to be processed: other nodes follow, and so does this one after a restart.
   *
   * @returns false if it runs already: nothing is stored then
   * @throws TaskError as `start`; what the database throws: it runs here, and nothing was stored
   */
  async activate(): Promise<boolean> {
    if (!(await this.start())) return false
    const { dispatcher, repository } = this.#environment
    await dispatcher.once<boolean>((transaction) => repository.activate(transaction, this.topic))
    return true
  }

  /**
   * Stops, and has it stored that the topic is not to be processed: other nodes follow, and so does this one after a restart.
   *
   * @returns false if it does not run: nothing is stored then
   * @throws TaskError as `stop`; what the database throws: it is stopped here, and nothing was stored
   */
  async deactivate(options: StopOptions = {}): Promise<boolean> {
    if (!this.isActive) return false
    await this.stop(options)
    const { dispatcher, repository } = this.#environment
    await dispatcher.once<boolean>((transaction) => repository.deactivate(transaction, this.topic))
    return true
  }

  /** There may be work. Never lost, whatever the manager is doing; nothing happens where it does not run. */
  wake(): void {
    this.#running?.loop.wake()
  }

  /** Asks the handlers of what is held to let go. */
  abort(reason: TaskError): void {
    for (const batch of this.batches) batch.abort(reason)
  }

  /**
   * Polls no more, lets handlers finish, then asks them to let go, then hands back what they still hold. Called again meanwhile, it
   * reports the same; where nothing runs, nothing was held.
   *
   * @throws TaskError ARGUMENT_INVALID
   */
  stop(options: StopOptions = {}): Promise<StopReport> {
    const checked = checkStopOptions(options)
    if (!this.#running) return Promise.resolve(nothingHeld)
    this.#stopping ??= this.#stop(this.#running, checked).finally(() => {
      this.#running = this.#stopping = undefined
      this.#environment.leftovers.leave(this.topic)
    })
    return this.#stopping
  }

  async #stop(
    { loop, handler }: Running<Transaction>,
    { graceMs, abortMs, leaveMs }: Required<StopOptions>,
  ): Promise<StopReport> {
    const { clock, leftovers, topic } = this.#environment
    const batches = new Set(loop.batches)
    const left = leftovers.of(topic)
    const drained = loop.drain((batch) => batches.add(batch))
    const closed = drained.then(() => this.#close(handler))
    const ended = this.#ended(loop, drained, batches)
    await within(clock, graceMs, ended)
    if (loop.batches.size > 0) {
      this.abort(new TaskError('SHUTDOWN', 'The node is stopping, and its grace is over', { graceMs }))
      await within(clock, abortMs, this.#ended(loop, drained, batches))
    }
    const stuck = [...loop.batches]
    const returned = [leftovers.handBack(topic), ...stuck.map((batch) => batch.handBack())]
    // Half of the time: a quarter is for the handler's end, and the rest for the node's.
    await within(clock, leaveMs / 2, Promise.allSettled(returned))
    for (const batch of stuck) {
      batch.giveUp()
      // Their handlers hold on to them; they are the database's to give to others.
      leftovers.add(topic, batch.leased)
    }
    // A handler that waits for its own workers, of which one is stuck, would never be closed.
    await within(clock, Math.min(abortMs, leaveMs / 4), closed)
    for (const batch of loop.batches) batches.add(batch)
    return reportOf(batches, left, (task) => leftovers.wasReturned(task))
  }

  async #ended(loop: PollLoop<Transaction>, drained: Promise<void>, batches: Set<Batch>): Promise<void> {
    await drained
    for (const batch of loop.batches) batches.add(batch)
    await Promise.all([...batches].map((batch) => batch.ended))
  }

  async #close(handler: OpenHandler<Transaction>): Promise<void> {
    try {
      await handler.close?.()
    } catch (error) {
      this.#environment.listener.onError({ activity: 'handle', topic: this.topic, error })
    }
  }

  #loop(handler: OpenHandler<Transaction>): PollLoop<Transaction> {
    const { size, mode, retry, timeoutMs, abortMs, idleMs, topicOptions } = this.processing
    const { limiter, leftovers, mayPoll, defaultIdleMs, listener, ...environment } = this.#environment
    const { order, condition } = topicOptions ?? {}
    const completions = new SharedCompletions(environment)
    return new PollLoop(
      { ...environment, completions, listener, handler: handler.handle, retry, timeoutMs, abortMs },
      {
        // Named, a topic that was destroyed and made anew in another way is found out.
        poll: { size, ...(order && { order }), ...(condition && { condition }) },
        mode,
        concurrency: concurrencyOf(this.processing, handler),
        idleMs: () => idleMs ?? defaultIdleMs(),
        limiter,
        leftovers,
        mayPoll,
        onFatal: (error) => {
          listener.onFatal({ topic: this.topic, error })
          // What is held is handled to its end.
          void this.stop()
        },
      },
    )
  }
}

function concurrencyOf<Transaction>({ concurrency }: Processing<Transaction>, { capacity }: OpenHandler<Transaction>): number {
  return concurrency ?? capacity ?? 2
}
