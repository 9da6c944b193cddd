/** What one reader is told of jobs: an iterator that keeps what was not read yet, up to a limit. */
import type { JobChange } from '@taskstream/task-jobs'
import type { CheckedWatch, JobEvent } from './watch-options.ts'

/** So many events are kept for a reader who is slow. */
export const keptEvents = 10_000

/** An event that was not read yet. */
type Kept = Omit<JobEvent, 'dropped'>

/**
 * The events of jobs, as `stream.watch` returns them. They end with `break`, with the signal, or with the stream. Close what is not read to its end, by
 * `return()` or by `await using`.
 */
export interface JobEvents<Name extends string = string> extends AsyncIterableIterator<JobEvent<Name>>, AsyncDisposable {
  next(): Promise<IteratorResult<JobEvent<Name>, undefined>>
  /** Ends the watching, and throws away what was not read. */
  return(): Promise<IteratorResult<JobEvent<Name>, undefined>>
  [Symbol.asyncIterator](): this
}

type Result = IteratorResult<JobEvent, undefined>

export class JobWatcher implements JobEvents {
  readonly #watch: CheckedWatch
  readonly #onEnd: (watcher: JobWatcher) => void
  readonly #reading: ((result: Result) => void)[] = []
  #kept: Kept[] = []
  #dropped = 0
  #isOver = false

  /** @param onEnd called once, when nothing more is to be told */
  constructor(watch: CheckedWatch, onEnd: (watcher: JobWatcher) => void) {
    this.#watch = watch
    this.#onEnd = onEnd
    watch.signal?.addEventListener('abort', this.#abort)
    if (watch.signal?.aborted) this.#abort()
  }

  get everyMs(): number {
    return this.#watch.everyMs
  }

  /** The topics of the watched jobs; undefined if they are all of the stream. */
  get topics(): Iterable<string> | undefined {
    return this.#watch.jobs?.keys()
  }

  /** Whether jobs of a topic are watched, if they are of the stream. */
  watches(topic: string): boolean {
    return this.#watch.jobs?.has(topic) ?? true
  }

  tell(change: JobChange, event: Kept): void {
    const { jobs, states } = this.#watch
    if (this.#isOver || (states && !states.has(event.state))) return
    const named = jobs?.get(change.topic)
    if (jobs && named !== 'all' && !named?.has(change.job)) return
    const read = this.#reading.shift()
    if (read) return read({ done: false, value: { ...event, dropped: 0 } })
    if (this.#kept.length >= keptEvents) {
      this.#kept.shift()
      this.#dropped++
    }
    this.#kept.push(event)
  }

  /** Ends the watching. What was not read yet may still be read. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#watch.signal?.removeEventListener('abort', this.#abort)
    for (const read of this.#reading.splice(0)) read({ done: true, value: undefined })
    this.#onEnd(this)
  }

  next(): Promise<Result> {
    const event = this.#kept.shift()
    if (event) {
      const dropped = this.#dropped
      this.#dropped = 0
      return Promise.resolve({ done: false, value: { ...event, dropped } })
    }
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined })
    return new Promise((resolve) => void this.#reading.push(resolve))
  }

  return(): Promise<Result> {
    this.#abort()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return()
  }

  /** Nobody reads on. */
  readonly #abort = (): void => {
    this.#kept = []
    this.end()
  }
}
