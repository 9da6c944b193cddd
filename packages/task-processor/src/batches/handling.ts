import { AsyncResource } from 'node:async_hooks'
import { tracingChannel } from 'node:diagnostics_channel'
import { taskChannels, TaskError } from '@taskstream/task-api'
import type { HandlerCall, HeldTask } from '@taskstream/task-api'
import type { BatchEnvironment } from './batch.ts'
import { GivenContext } from './given-context.ts'
import type { BatchEvent } from '../core/listener.ts'
import type { Decisions, HandlerContext } from '../core/task-handler.ts'

/** Tracing channels around handlers. Their messages are the events of `onStart`. */
const channels = tracingChannel<unknown, HandlerCall>(taskChannels.handle)

const none: ReadonlyMap<HeldTask, number> = new Map()

/** One call of a handler, with its context, its time limit and its events. */
export class Handling<Transaction> {
  readonly #environment: BatchEnvironment<Transaction>
  #controller: AbortController | undefined
  #aborted: TaskError | undefined
  readonly #tasks: readonly HeldTask[]
  readonly #startedMs: number
  #trace: unknown
  #at: HeldTask | undefined
  #hasEnded = false
  /** Cancels the end of its time. Undefined without a time. */
  #cancel: (() => void) | undefined
  /** Made when the handler is asked to let go, as most handlers never are. */
  #askedMs: Map<HeldTask, number> | undefined

  constructor(environment: BatchEnvironment<Transaction>, tasks: readonly HeldTask[]) {
    this.#environment = environment
    this.#tasks = tasks
    this.#startedMs = environment.clock.monotonicMs()
  }

  get event(): BatchEvent & { readonly at?: HeldTask } {
    const event = { topic: this.#environment.topic, tasks: this.#tasks, trace: this.#trace }
    return this.#at ? { ...event, at: this.#at } : event
  }

  /** Why the handler was asked to let go. Undefined if it was not asked. */
  get aborted(): TaskError | undefined {
    return this.#aborted
  }

  /** The tasks of which the handler was asked to let go, and since when by the monotonic clock. Empty once it has ended. */
  get askedMs(): ReadonlyMap<HeldTask, number> {
    return this.#askedMs ?? none
  }

  /** The handler's signal. It is made on the first access, as most handlers never look at it. */
  get signal(): AbortSignal {
    if (this.#controller) return this.#controller.signal
    this.#controller = new AbortController()
    if (this.#aborted) this.#controller.abort(this.#aborted)
    return this.#controller.signal
  }

  abort(reason: TaskError): void {
    this.#aborted ??= reason
    this.#ask(this.#tasks)
    this.#controller?.abort(this.#aborted)
  }

  /** Calls the handler, and waits for it. */
  async run(complete: HandlerContext<Transaction>['complete'], onStuck: (reason: TaskError) => void): Promise<Decisions | void> {
    try {
      return await this.begin(complete, onStuck)
    } finally {
      this.end()
    }
  }

  /**
   * Calls the handler. When its time is up, the handler is asked to let go; if it does not, `onStuck` is called. Whoever begins calls `end` once the
   * outcome is there.
   *
   * @param complete the `complete` of the handler's context
   * @throws what a handler throws that returns no promise
   */
  begin(
    complete: HandlerContext<Transaction>['complete'],
    onStuck: (reason: TaskError) => void,
  ): Promise<Decisions | void> | Decisions | void {
    const { listener, handler } = this.#environment
    this.#trace = listener.onStart({ topic: this.#environment.topic, tasks: this.#tasks })
    this.#watch(onStuck)
    const context = new GivenContext(this, this.#environment, complete)
    // A handler may take its tasks out of the list, and they stay those of the batch.
    const given = [...this.#tasks]
    try {
      // This confines `enterWith` in the handler to this call: the same loop calls other handlers. A snapshot would do the same, and makes more objects.
      return new AsyncResource('taskstream.handle').runInAsyncScope(() =>
        // mutants: equivalent condition:true, without subscribers a direct call is only faster
        channels.hasSubscribers ? this.#told(async () => handler(given, context)) : handler(given, context),
      )
    } finally {
      listener.onDispatched(this.event)
    }
  }

  end(): void {
    this.#cancel?.()
    this.#hasEnded = true
    this.#askedMs?.clear()
  }

  /** Notes at which task the handler is. */
  reach(task: HeldTask): void {
    this.#at = task
  }

  get isHung(): boolean {
    return this.#environment.hung.isFull
  }

  /** Reports that a task's handler did not let go in time. */
  stuck(at: HeldTask, heldMs: number, handled?: PromiseLike<unknown>, ofBatch?: number): void {
    this.#ask([at])
    if (handled) this.#environment.hung.add(handled, ofBatch)
    this.#environment.listener.onStuck({ ...this.event, at, heldMs })
  }

  #ask(tasks: readonly HeldTask[]): void {
    if (this.#hasEnded) return
    const nowMs = this.#environment.clock.monotonicMs()
    const asked = (this.#askedMs ??= new Map())
    for (const task of tasks) if (!asked.has(task)) asked.set(task, nowMs)
  }

  #told(handle: () => Promise<Decisions | void>): Promise<Decisions | void> {
    const call: HandlerCall = this.event
    return channels.tracePromise(() => (call.within ? call.within(handle) : handle()), call)
  }

  #watch(onStuck: (reason: TaskError) => void): void {
    const { clock, timeoutMs, abortMs, topic, listener } = this.#environment
    if (timeoutMs === undefined) return
    this.#cancel = clock.after(timeoutMs, () => {
      const reason = new TaskError('TASK_TIMEOUT', `The handler of topic "${topic}" took longer than ${timeoutMs} ms`, {
        timeoutMs,
        topic,
      })
      this.abort(reason)
      this.#cancel = clock.after(abortMs, () => {
        listener.onStuck({ ...this.event, heldMs: clock.monotonicMs() - this.#startedMs })
        onStuck(reason)
      })
    })
  }
}

/** Makes the error for a handler that completes its batch twice. */
export function completedAlready(topic: string): TaskError {
  return new TaskError('LIFECYCLE', `A batch of topic "${topic}" was completed already`, { topic })
}
