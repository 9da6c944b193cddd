import { AsyncLocalStorage } from 'node:async_hooks'
import type { Completion } from '@taskstream/task-api'
import type { BatchEnvironment } from './batch.ts'
import { isSingleStatement } from './decisions.ts'
import type { Decisions } from '../core/task-handler.ts'

/** A batch of so many tasks gains nothing from sharing a transaction. */
const largeBatch = 100
/** How many tasks one transaction completes at most. Further batches wait for the next. */
const mostTasks = 1_000
/** How many completions run at a time: while one waits for its commit, another is at work. */
const ownWay = 2

/** A small batch that waits for the next shared completion. */
interface Waiting {
  readonly decisions: Decisions
  /** Whether its completion is a single statement, unless more is kept of a decision than its row. */
  readonly single: boolean
  /** Called with undefined if the batch was not completed, or if the outcome is unknown. */
  readonly resolve: (completion: Completion | undefined) => void
}

/**
 * Completes a topic's small batches, several in one transaction. Batches that come while completions are under way share the next transaction, and none
 * waits for further batches. If the shared commit fails, each batch is tried alone; if its outcome is unknown, the fence rejects duplicates.
 */
export class SharedCompletions<Transaction> {
  readonly #environment: Pick<BatchEnvironment<Transaction>, 'discard' | 'dispatcher' | 'repository' | 'topic'>
  #underWay = 0
  #waiting: Waiting[] = []
  /** Runs work outside the AsyncLocalStorage context of the caller that happens to start it, as many callers share the work. */
  readonly #detached = AsyncLocalStorage.snapshot()

  constructor(environment: Pick<BatchEnvironment<Transaction>, 'discard' | 'dispatcher' | 'repository' | 'topic'>) {
    this.#environment = environment
  }

  /**
   * Completes a batch, alone or together with others.
   *
   * @param alone completes these decisions alone; never rejects. It calls `onWait` when it waits for a lock, so that the next completion may begin
   * @returns undefined if `alone` completed the batch
   */
  async complete(
    decisions: Decisions,
    single: boolean,
    alone: (onWait?: () => void) => Promise<void>,
  ): Promise<Completion | undefined> {
    if (decisions.size >= largeBatch) {
      await alone()
      return undefined
    }
    if (this.#underWay < ownWay) {
      this.#underWay++
      let next = this.#next
      const giveWay = (): void => {
        next()
        next = () => {}
      }
      await alone(giveWay)
      giveWay()
      return undefined
    }
    const { promise, resolve } = Promise.withResolvers<Completion | undefined>()
    this.#waiting.push({ decisions, single, resolve })
    const completion = await promise
    if (!completion) await alone()
    return completion
  }

  readonly #next = (): void => {
    this.#underWay--
    const together = this.#take()
    if (together.length === 0) return
    this.#underWay++
    void this.#detached(() => this.#completeAll(together)).finally(this.#next)
  }

  #take(): Waiting[] {
    let tasks = 0
    const end = this.#waiting.findIndex(({ decisions }) => (tasks += decisions.size) > mostTasks)
    // mutants: equivalent boundary number:1, the first batch is never too large
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end)
  }

  /** Never rejects. */
  async #completeAll(together: readonly Waiting[]): Promise<void> {
    const { discard, dispatcher, repository, topic } = this.#environment
    // Rows are locked in order of sequence, as everywhere, so that transactions do not deadlock.
    const all = new Map(
      together.flatMap(({ decisions }) => [...decisions]).toSorted(([left], [right]) => left.sequence - right.sequence),
    )
    const single = together.every((each) => each.single) && isSingleStatement(all) && !discard
    const shared = await dispatcher
      .once<Completion>((transaction) => repository.complete(transaction, topic, all, discard && { discard }), { single })
      .catch(() => undefined)
    const done = new Set(shared?.completed)
    for (const { decisions, resolve } of together) {
      const tasks = [...decisions.keys()]
      resolve(shared && { completed: tasks.filter((task) => done.has(task)), lost: tasks.filter((task) => !done.has(task)) })
    }
  }
}
