import { setTimeout as nextTurn } from 'node:timers/promises'

/** A promise that knows whether anybody has asked for its result. What is made of it is an ordinary promise. */
class Heard<Result> extends Promise<Result> {
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  isHeard = false

  // oxlint-disable-next-line unicorn/no-thenable
  override then<Fulfilled = Result, Rejected = never>(
    onFulfilled?: ((value: Result) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    this.isHeard = true
    return super.then(onFulfilled, onRejected)
  }
}

/**
 * The calls of some work, such as that of a transaction: none of their errors is lost because nobody has awaited them. Transaction sources use it.
 *
 * @example
 * const calls = new HeardCalls()
 * await work((order) => calls.add(book(order)))
 * await calls.settled()
 */
export class HeardCalls {
  /** The calls that are under way, and their ends. Those never reject. */
  readonly #open = new Map<Heard<unknown>, Promise<void>>()
  readonly #refused: Heard<unknown>[] = []

  /** Adds a call. @returns the same outcome, for the caller. Its rejection ends no process if nobody awaits it, as `settled` throws it */
  add<Result>(outcome: Promise<Result>): Promise<Result> {
    const heard = new Heard<Result>((resolve, reject) => void outcome.then(resolve, reject))
    const ended = outcome.then(
      () => void this.#open.delete(heard),
      () => {
        this.#open.delete(heard)
        this.#refused.push(heard)
      },
    )
    // Node.js is not to take it for unhandled, and it is not to count as heard.
    Promise.prototype.then.call(heard, undefined, () => {})
    this.#open.set(heard, ended)
    return heard
  }

  /**
   * Waits for the calls that are under way, and for those that follow them, once the work has returned.
   *
   * @throws the error of the first that was refused after the work had returned, or without anybody asking for its result
   */
  async settled(): Promise<void> {
    const before = this.#refused.length
    for (; this.#open.size > 0; await nextTurn()) await Promise.all(this.#open.values())
    await this.#refused.find(({ isHeard }, index) => index >= before || !isHeard)
  }

  /** Whether calls are under way, or were refused: otherwise `settled` has nothing to tell. */
  get areUnsettled(): boolean {
    return this.#open.size > 0 || this.#refused.length > 0
  }
}
