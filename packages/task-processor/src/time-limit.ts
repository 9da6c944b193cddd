import { LazyAbortController, TaskError } from '@taskstream/task-api'

/** After a standstill of the event loop, answers that have come are read before it is said that there was none. */
const readingMs = 1_000

type Step = 'connect' | 'work' | 'end'

/**
 * How long the database may take for each step of one transaction: to begin it, to do what it is for, to end it. By the process's own clock,
 * also in tests: a database does not know of another.
 */
export class TimeLimit {
  /** Aborts when it is over. */
  readonly controller: LazyAbortController = new LazyAbortController()
  readonly #ms: number
  readonly #isAutocommit: boolean
  readonly #over = Promise.withResolvers<never>()
  #step: Step = 'connect'
  #isLifted = false
  #isSettled = false
  #timer: NodeJS.Timeout

  /** `isAutocommit`: what is done in it needs no end, and may be committed already. */
  constructor(ms: number, isAutocommit = false) {
    this.#ms = ms
    this.#isAutocommit = isAutocommit
    this.#over.promise.catch(() => {})
    this.#timer = setTimeout(this.#onTime, ms)
  }

  get isOver(): boolean {
    return this.controller.aborted
  }

  /** @throws what `transaction` throws, or, when the time is up first, DATABASE_BUSY for its statements and DATABASE_UNAVAILABLE for its end */
  async of<Result>(transaction: Promise<Result>): Promise<Result> {
    try {
      return await Promise.race([transaction, this.#over.promise])
    } finally {
      this.settle()
    }
  }

  /** Nothing is waited for any more, whatever its work still does. */
  settle(): void {
    this.#isSettled = true
    clearTimeout(this.#timer)
  }

  /** The statements of a transaction that has begun; it may begin several times. */
  async work<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    this.#begin('work')
    try {
      return await Promise.race([work(), this.#over.promise])
    } finally {
      this.#begin('end')
    }
  }

  /** What is not ours takes as long as it takes. */
  async lift<Result>(foreign: () => Result | Promise<Result>): Promise<Result> {
    // Begun again elsewhere, perhaps: what comes too late is not handled.
    this.controller.throwIfAborted()
    clearTimeout(this.#timer)
    this.#isLifted = true
    try {
      return await foreign()
    } finally {
      this.#isLifted = false
      this.#begin('work')
    }
  }

  /** Gives the transaction up; not while somebody else's code is at work in it, which would go on on its connection. */
  end(reason: TaskError): void {
    if (this.isOver || this.#isLifted) return
    clearTimeout(this.#timer)
    this.controller.abort(reason)
    this.#over.reject(reason)
  }

  /** @throws why it is over: nothing of it is begun then */
  #begin(step: Step): void {
    this.controller.throwIfAborted()
    this.#step = step
    clearTimeout(this.#timer)
    if (this.#isSettled) return
    this.#timer = setTimeout(this.#onTime, this.#ms)
  }

  readonly #onTime = (): void => {
    this.#timer = setTimeout(() => this.end(this.#unanswered()), Math.min(readingMs, this.#ms / 4))
  }

  #unanswered(): TaskError {
    const timeoutMs = this.#ms
    const message = `The database has not answered within ${timeoutMs} ms`
    if (this.#step !== 'work')
      return new TaskError('DATABASE_UNAVAILABLE', `${message} to ${this.#step} a transaction`, { timeoutMs })
    if (!this.#isAutocommit) return new TaskError('DATABASE_BUSY', message, { shortOf: 'time', timeoutMs })
    return new TaskError('DATABASE_BUSY', `${message}: what it was asked may be done`, {
      shortOf: 'time',
      timeoutMs,
      outcome: 'unknown',
    })
  }
}
