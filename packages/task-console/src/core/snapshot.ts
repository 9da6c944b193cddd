/** One look at the database for everybody who asks meanwhile. */

/** Gives a look that is at most so old: a second, or ten times as long as it takes. So looks keep a connection busy for a tenth of the time at most. */
export class Snapshot<Value> {
  readonly #read: () => Promise<Value>
  readonly #now: () => number
  #value: Promise<Value> | undefined
  #until = 0

  constructor(read: () => Promise<Value>, now: () => number = () => performance.now()) {
    this.#read = read
    this.#now = now
  }

  /** Has the next one look again: something was changed. */
  forget(): void {
    this.#value = undefined
  }

  get(): Promise<Value> {
    if (this.#value && this.#now() < this.#until) return this.#value
    const begun = this.#now()
    // Until it is there, whoever asks waits for the same.
    this.#until = Infinity
    const value = this.#read()
    this.#value = value
    value.then(
      () => {
        if (this.#value !== value) return
        const now = this.#now()
        this.#until = now + Math.max(1_000, 10 * (now - begun))
      },
      () => {
        // The next one tries again.
        if (this.#value === value) this.#value = undefined
      },
    )
    return value
  }
}
