/** When a worker ends by itself. */
import type { HeldTask } from '@taskstream/task-api'
import type { TaskListener } from '@taskstream/task-processor'

export interface EndOptions {
  /** End when no topic has a task that is ready. */
  readonly untilEmpty?: boolean
  /** End after so long. */
  readonly forMs?: number
  /** End when there was nothing to do for so long. */
  readonly quietAfterMs?: number
}

export class Endings implements Disposable {
  readonly listener: TaskListener
  readonly #options: EndOptions
  readonly #topics: readonly string[]
  readonly #end: (why: string) => void
  readonly #atWork = new Set<HeldTask>()
  /** Topics of which a poll has found nothing since the last task ended, which may have pushed others. */
  readonly #empty = new Set<string>()
  #limit: NodeJS.Timeout | undefined
  #quiet: NodeJS.Timeout | undefined

  /** @param end called when it is time to end, with the reason */
  constructor(topics: readonly string[], options: EndOptions, end: (why: string) => void) {
    this.#topics = topics
    this.#options = options
    this.#end = end
    this.listener = {
      onEmpty: ({ topic }) => {
        if (this.#atWork.size > 0) return
        this.#empty.add(topic)
        if (options.untilEmpty && this.#topics.every((one) => this.#empty.has(one))) this.#end('nothing is ready any more')
      },
    }
  }

  /** Begins to count the time. */
  start(): void {
    const { forMs } = this.#options
    if (forMs !== undefined) this.#limit = setTimeout(() => this.#end('its time is up'), forMs)
    this.#wait()
  }

  began(task: HeldTask): void {
    this.#atWork.add(task)
    this.#empty.clear()
    clearTimeout(this.#quiet)
  }

  ended(task: HeldTask): void {
    this.#atWork.delete(task)
    this.#empty.clear()
    if (this.#atWork.size === 0) this.#wait()
  }

  /** Waits for there to be nothing to do. */
  #wait(): void {
    const { quietAfterMs } = this.#options
    clearTimeout(this.#quiet)
    if (quietAfterMs !== undefined) this.#quiet = setTimeout(() => this.#end('there was nothing to do'), quietAfterMs)
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#limit)
    clearTimeout(this.#quiet)
  }
}
