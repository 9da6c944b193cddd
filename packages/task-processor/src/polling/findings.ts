import type { Execution, PollFindings, PollOptions, TaskRepository } from '@taskstream/task-api'

/** How a topic is polled by a single statement. */
export type SingleMode = Required<Pick<PollOptions, 'order' | 'condition'>>

/** A topic without an order and a condition of its own. */
export const plainMode: SingleMode = { order: 'fifo', condition: 'none' }

/** So many polls in a row that have found nothing, and have not looked at everything, are made without a pause. */
const mostInVain = 1_000

/** What the repository's last poll of a topic has found out. */
export class Findings {
  #vain = 0
  readonly #ask: () => PollFindings | undefined

  constructor({ repository, topic }: { readonly repository: TaskRepository<never, Execution>; readonly topic: string }) {
    this.#ask = () => repository.found?.(topic)
  }

  /** How a topic with a condition is polled and completed by a single statement each. */
  get single(): SingleMode | undefined {
    return this.#ask()?.single
  }

  /** Whether a poll that has found nothing is to be repeated at once, as it has not looked at all tasks that may be free. */
  goesOn(): boolean {
    // Each poll leaves less to look at, unless others have locked it.
    this.#vain = this.#more ? this.#vain + 1 : 0
    return this.#vain > 0 && this.#vain < mostInVain
  }

  /**
   * Whether all tasks that are free were taken, and others become free by the batches at work: a topic with a condition would be polled in vain until one of
   * them ends, which wakes the loop. So do pushes.
   */
  waitsFor(batches: number): boolean {
    return batches > 0 && this.single !== undefined && !this.#more
  }

  get #more(): boolean {
    return this.#ask()?.more === true
  }
}
