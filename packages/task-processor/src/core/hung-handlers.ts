import { TaskError } from '@taskstream/task-api'

/**
 * The handlers of a topic that run on although their tasks were decided without them. Nothing can end their code. Once they are as many as may be at work at
 * a time, none is begun, as they would add up until the process runs out of something.
 */
export class HungHandlers {
  readonly #most: () => number
  readonly #onEnd: () => void
  /** How many handlers, by how many of their kind one batch has at work. */
  readonly #counts: Map<number, number> = new Map()

  /**
   * @param most how many batches are handled at a time
   * @param onEnd called when one has ended after all
   */
  constructor(most: () => number, onEnd: () => void) {
    this.#most = most
    this.#onEnd = onEnd
  }

  /** How many whole batches they would be. */
  get batches(): number {
    let batches = 0
    for (const [ofBatch, count] of this.#counts) batches += count / ofBatch
    // Ten tenths are one, and not a little less.
    return Math.floor(batches + 1e-6)
  }

  /** How many there are. */
  get size(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0)
  }

  /** Whether no handler should begin. */
  get isFull(): boolean {
    return this.#counts.size > 0 && this.batches >= this.#most()
  }

  /**
   * @param handled settles when the handler has ended
   * @param ofBatch how many handlers of its kind a batch has at work at a time
   */
  add(handled: PromiseLike<unknown>, ofBatch: number = 1): void {
    this.#counts.set(ofBatch, (this.#counts.get(ofBatch) ?? 0) + 1)
    const end = (): void => {
      const left = this.#counts.get(ofBatch)! - 1
      if (left > 0) this.#counts.set(ofBatch, left)
      else this.#counts.delete(ofBatch)
      this.#onEnd()
    }
    void handled.then(end, end)
  }

  /** Says that the topic rests. */
  toError(topic: string): TaskError {
    const message = `${this.size === 1 ? 'A handler' : `${this.size} handlers`} of topic "${topic}" ${this.size === 1 ? 'runs' : 'run'} on, though the time was up: this process takes no more of its tasks until one ends. Heed the signal in the handler, and restart the process`
    return new TaskError('HANDLERS_HUNG', message, { topic, hung: this.size })
  }
}
