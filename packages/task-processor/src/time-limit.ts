import { TaskError } from '@taskstream/task-api'

/** After a standstill of the event loop, answers that have come are read before it is said that there was none. */
const readingMs = 1_000

type Step = 'connect' | 'work' | 'end'

/**
 * How long the database may take for each step of one transaction: to begin it, to do what it is for, to end it. By the process's own clock,
 * also in tests: a database does not know of another.
 */
export class TimeLimit {
  readonly #ms: number
  readonly #controller = new AbortController()
  readonly #over = Promise.withResolvers<never>()
  #step: Step = 'connect'
  #timer: NodeJS.Timeout

  constructor(ms: number) {
    this.#ms = ms
    this.#over.promise.catch(() => {})
    this.#timer = setTimeout(this.#onTime, ms)
  }

  /** Aborted when it is over. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get isOver(): boolean {
    return this.signal.aborted
  }

  /** @throws what `transaction` throws, or, when the time is up first, DATABASE_BUSY for its statements and DATABASE_UNAVAILABLE for its end */
  async of<Result>(transaction: Promise<Result>): Promise<Result> {
    try {
      return await Promise.race([transaction, this.#over.promise])
    } finally {
      clearTimeout(this.#timer)
    }
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
    clearTimeout(this.#timer)
    try {
      return await foreign()
    } finally {
      this.#begin('work')
    }
  }

  /** Gives the transaction up. */
  end(reason: TaskError): void {
    clearTimeout(this.#timer)
    if (this.isOver) return
    this.#controller.abort(reason)
    this.#over.reject(reason)
  }

  /** @throws why it is over: nothing of it is begun then */
  #begin(step: Step): void {
    this.signal.throwIfAborted()
    this.#step = step
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#onTime, this.#ms)
  }

  readonly #onTime = (): void => {
    this.#timer = setTimeout(() => this.end(unanswered(this.#step, this.#ms)), Math.min(readingMs, this.#ms))
  }
}

function unanswered(step: Step, timeoutMs: number): TaskError {
  const message = `The database has not answered within ${timeoutMs} ms`
  if (step === 'work') return new TaskError('DATABASE_BUSY', message, { shortOf: 'time', timeoutMs })
  return new TaskError('DATABASE_UNAVAILABLE', `${message} to ${step} a transaction`, { timeoutMs })
}
