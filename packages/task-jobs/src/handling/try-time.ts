import { carriedDecision, TaskError, taskToString } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { Clock, HandlerContext } from '@taskstream/task-processor'

interface Limits {
  readonly timeoutMs: number | undefined
  readonly maxRunMs: number | undefined
}

/** How long a handler may take to let go once its time is up, in milliseconds. Then its job is decided without it. */
const abortMs = 2_000

/** The time of one try, and then of each run of its commit. The handler is asked to let go when it is up, and can extend it before. */
export class TryTime {
  readonly #task: HeldTask
  readonly #context: Pick<HandlerContext<never>, 'clock' | 'stuck' | 'signal'>
  readonly #clock: Clock
  readonly #limits: Limits
  #begunMs: number
  /** Why the handler was asked to let go by itself, not with all that its process handles. */
  #reason: TaskError | undefined
  /** Made when the signal is first asked for, as most handlers never look at it. */
  #own: AbortController | undefined
  #signal: AbortSignal | undefined
  /** Undefined without a limit. */
  #givenUp: PromiseWithResolvers<never> | undefined
  #cancel: (() => void) | undefined
  /** The handler that may be left behind. Undefined if nobody could leave it. */
  #outcome: Promise<unknown> | undefined
  #ended = false
  #isLost = false

  constructor(task: HeldTask, context: Pick<HandlerContext<never>, 'clock' | 'stuck' | 'signal'>, limits: Limits) {
    this.#task = task
    this.#context = context
    this.#clock = context.clock
    this.#limits = limits
    this.#begunMs = context.clock.monotonicMs()
    this.#begin()
  }

  get signal(): AbortSignal {
    if (this.#signal) return this.#signal
    this.#own = new AbortController()
    if (this.#reason) this.#own.abort(this.#reason)
    return (this.#signal = AbortSignal.any([this.#context.signal, this.#own.signal]))
  }

  /** Whether the job was taken from its handler. */
  get isLost(): boolean {
    return this.#isLost
  }

  /** Asks the handler to let go, as its job was cancelled in this process. */
  lose(reason: TaskError): void {
    this.#isLost = true
    this.#cancel?.()
    this.#abort(reason)
    if (!this.#ended) this.#giveUpLater(reason, this.#clock.monotonicMs() - this.#begunMs)
  }

  /**
   * @param leave makes the error, where it is to be another
   * @returns the outcome of a handler, which rejects if the handler goes on long after its time is up
   */
  of(outcome: unknown, leave?: (late: TaskError) => TaskError): unknown {
    if (!this.#givenUp) return outcome
    this.#outcome = Promise.resolve(outcome)
    const { promise } = this.#givenUp
    return Promise.race([this.#outcome, leave ? promise.catch((late: TaskError) => Promise.reject(leave(late))) : promise])
  }

  /** Why a try failed whose handler threw: an aborted call may throw an error of its own. */
  reasonOf(error: unknown): unknown {
    return this.#reason && !carriedDecision(error) ? this.#reason : error
  }

  /** Begins the time of the try anew. @throws the signal's reason */
  readonly extend = (): void => {
    this.signal.throwIfAborted()
    if (this.#ended || this.#limits.timeoutMs === undefined) return
    this.#cancel?.()
    this.#wait()
  }

  end(): void {
    this.#ended = true
    this.#cancel?.()
  }

  /** Begins the time anew, for a run of the commit: what the database is waited for before does not count. */
  again(): void {
    this.#cancel?.()
    this.#outcome = undefined
    this.#ended = false
    this.#begunMs = this.#clock.monotonicMs()
    this.#begin()
  }

  #begin(): void {
    const { timeoutMs, maxRunMs } = this.#limits
    if (timeoutMs === undefined && maxRunMs === undefined) return
    this.#givenUp = Promise.withResolvers()
    this.#givenUp.promise.catch(() => {})
    this.#wait()
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
      this.#abort(late)
      this.#giveUpLater(late, heldMs)
    })
  }

  /** Waits for a handler that was asked to let go, though not for ever if it has a limit. */
  #giveUpLater(reason: TaskError, heldMs: number): void {
    this.#cancel = this.#clock.after(abortMs, () => {
      this.#context.stuck(this.#task, Math.round(heldMs) + abortMs, this.#outcome)
      this.#givenUp?.reject(reason)
    })
  }

  #abort(reason: TaskError): void {
    this.#reason ??= reason
    this.#own?.abort(reason)
  }
}
