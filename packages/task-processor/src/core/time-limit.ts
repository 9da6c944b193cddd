import { LazyAbortController, TaskError } from '@taskstream/task-api'

/** After a standstill of the event loop, answers that have come are read before it is said that there was none. */
const readingMs = 1_000

type Step = 'connect' | 'work' | 'end'

/**
 * How long the database may take for each step of one transaction: to begin it, to do what it is for, to end it. By the process's own clock,
 * also in tests: a database does not know of another. Somebody has to look now and then: a timer for each step would cost more than most steps.
 */
export class TimeLimit {
  /** Aborts when it is over. */
  readonly controller: LazyAbortController = new LazyAbortController()
  readonly #ms: number
  readonly #isAutocommit: boolean
  #step: Step = 'connect'
  /** When this step is to be over; `Infinity` while it is not the database that is waited for. */
  #endsAt: number
  #isReading = false
  /** Why it is over. */
  #reason: TaskError | undefined
  #refuse: ((reason: TaskError) => void) | undefined
  #refuseWork: ((reason: TaskError) => void) | undefined

  /** `isAutocommit`: what is done in it needs no end, and may be committed already. */
  constructor(ms: number, isAutocommit: boolean) {
    this.#ms = ms
    this.#isAutocommit = isAutocommit
    this.#endsAt = performance.now() + ms
  }

  get isOver(): boolean {
    return this.#reason !== undefined
  }

  /** When to look at it next, by `performance.now()`: before that it cannot be over. */
  get lookAt(): number {
    return this.#isLifted ? performance.now() + this.#ms : this.#endsAt
  }

  get #isLifted(): boolean {
    return this.#endsAt === Infinity
  }

  /** @throws what `transaction` throws, or, when the time is up first, DATABASE_BUSY for its statements and DATABASE_UNAVAILABLE for its end */
  of<Result>(transaction: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#refuse = reject
      transaction.then(resolve, reject)
    })
  }

  /** The statements of a transaction that has begun; it may begin several times. */
  async work<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    this.#begin('work')
    try {
      return await new Promise((resolve, reject) => {
        this.#refuseWork = reject
        const result = work()
        if (result instanceof Promise) result.then(resolve, reject)
        else resolve(result)
      })
    } finally {
      this.#begin('end')
    }
  }

  /** What is not ours takes as long as it takes. */
  async lift<Result>(foreign: () => Result | Promise<Result>): Promise<Result> {
    // Begun again elsewhere, perhaps: what comes too late is not handled.
    this.#checkOpen()
    this.#endsAt = Infinity
    try {
      return await foreign()
    } finally {
      this.#begin('work')
    }
  }

  /** Gives the transaction up; not while somebody else's code is at work in it, which would go on on its connection. */
  end(reason: TaskError): void {
    if (this.isOver || this.#isLifted) return
    // Whoever waits is told first, whatever those do who close connections.
    this.#refuse?.(reason)
    this.#refuseWork?.(reason)
    this.#reason = reason
    this.controller.abort(reason)
  }

  /** Ends it if its time is up. */
  look(): void {
    const now = performance.now()
    if (now < this.#endsAt) return
    if (this.#isReading) this.end(this.#unanswered())
    this.#isReading = true
    this.#endsAt = now + Math.min(readingMs, this.#ms / 4)
  }

  #begin(step: Step): void {
    this.#checkOpen()
    this.#step = step
    this.#endsAt = performance.now() + this.#ms
    this.#isReading = false
  }

  /** @throws why it is over: nothing of it is begun then */
  #checkOpen(): void {
    if (this.#reason) throw this.#reason
  }

  #unanswered(): TaskError {
    const { waitsFor } = this.controller
    if (waitsFor && this.#step === 'connect') return waitsFor()
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

/** Limits that are looked at when one may be over: by one timer, which is set again only when it has rung. */
export class TimeLimits {
  readonly #open = new Set<TimeLimit>()
  #timer: NodeJS.Timeout | undefined
  #ringsAt = Infinity

  add(limit: TimeLimit): void {
    this.#open.add(limit)
    if (limit.lookAt < this.#ringsAt) this.#set(limit.lookAt)
  }

  delete(limit: TimeLimit): void {
    this.#open.delete(limit)
  }

  end(reason: TaskError): void {
    for (const limit of this.#open) limit.end(reason)
  }

  /** Leaves no timer behind, unless something is still waited for. */
  rest(): void {
    if (this.#open.size === 0) this.#set(Infinity)
  }

  #set(at: number): void {
    clearTimeout(this.#timer)
    this.#ringsAt = at
    // Whoever waits for a database has a connection that keeps the process alive.
    if (at < Infinity) this.#timer = setTimeout(this.#onTime, Math.max(1, at - performance.now())).unref()
  }

  readonly #onTime = (): void => {
    let next = Infinity
    for (const limit of this.#open) {
      limit.look()
      if (!limit.isOver) next = Math.min(next, limit.lookAt)
    }
    this.#set(next)
  }
}
