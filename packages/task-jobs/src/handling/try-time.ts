import { carriedDecision, TaskError, taskToString } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { Clock, HandlerContext } from '@taskstream/task-processor'

interface Limits {
  readonly timeoutMs: number | undefined
  readonly maxRunMs: number | undefined
}

/** How long a handler may take to let go once its time is up, in milliseconds. Then its job is decided without it. */
const abortMs = 2_000

/** The time of one try. The handler is asked to let go when it is up, and can extend it before. */
export class TryTime implements Disposable {
  readonly #task: HeldTask
  readonly #context: Pick<HandlerContext<never>, 'clock' | 'stuck' | 'signal'>
  readonly #clock: Clock
  readonly #limits: Limits
  readonly #begunMs: number
  readonly #own = new AbortController()
  readonly #givenUp = Promise.withResolvers<never>()
  #signal: AbortSignal | undefined
  #cancel: (() => void) | undefined
  #ended = false
  #isLost = false

  constructor(task: HeldTask, context: Pick<HandlerContext<never>, 'clock' | 'stuck' | 'signal'>, limits: Limits) {
    this.#task = task
    this.#context = context
    this.#clock = context.clock
    this.#limits = limits
    this.#begunMs = context.clock.monotonicMs()
    this.#givenUp.promise.catch(() => {})
    if (this.#isLimited) this.#wait()
  }

  /** Made when it is first asked for, as most handlers never look at it. */
  get signal(): AbortSignal {
    this.#signal ??= AbortSignal.any([this.#context.signal, this.#own.signal])
    return this.#signal
  }

  get #isLimited(): boolean {
    return this.#limits.timeoutMs !== undefined || this.#limits.maxRunMs !== undefined
  }

  /** Whether the job was taken from its handler. */
  get isLost(): boolean {
    return this.#isLost
  }

  /** Asks the handler to let go, as its job was cancelled in this process. */
  lose(reason: TaskError): void {
    this.#isLost = true
    this.#cancel?.()
    this.#own.abort(reason)
  }

  /** Waits for a handler, unless it goes on long after its time is up. */
  async of<Result>(handle: () => Promise<Result>): Promise<Result> {
    try {
      return await (this.#isLimited ? Promise.race([handle(), this.#givenUp.promise]) : handle())
    } catch (error) {
      // An aborted call may throw an error of its own.
      throw this.#own.signal.aborted && !carriedDecision(error) ? this.#own.signal.reason : error
    }
  }

  /** Begins the time of the try anew. @throws the signal's reason */
  readonly extend = (): void => {
    this.signal.throwIfAborted()
    if (this.#ended || this.#limits.timeoutMs === undefined) return
    this.#cancel?.()
    this.#wait()
  };

  [Symbol.dispose](): void {
    this.#ended = true
    this.#cancel?.()
  }

  #wait(): void {
    const { timeoutMs = Infinity, maxRunMs = Infinity } = this.#limits
    const left = maxRunMs - (this.#clock.monotonicMs() - this.#begunMs)
    const forMs = Math.max(0, Math.min(timeoutMs, left))
    const heldMs = Math.round(this.#clock.monotonicMs() - this.#begunMs + forMs)
    this.#cancel = this.#clock.after(forMs, () => {
      const late = new TaskError(
        'TASK_TIMEOUT',
        `${taskToString(this.#task)} took longer than ${heldMs} ms: its timeout is over`,
        {
          timeoutMs: heldMs,
          task: this.#task,
        },
      )
      this.#own.abort(late)
      this.#cancel = this.#clock.after(abortMs, () => {
        this.#context.stuck(this.#task, heldMs + abortMs)
        this.#givenUp.reject(late)
      })
    })
  }
}
