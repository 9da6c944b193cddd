import { AsyncLocalStorage } from 'node:async_hooks'
import type { Completion } from '@taskstream/task-api'
import type { BatchEnvironment } from './batch.ts'
import type { Decisions } from '../core/task-handler.ts'

/** A batch of as many gains nothing by company. */
const largeBatch = 100
/** Tasks that are completed together at most; what is more goes with the next. */
const mostTasks = 1_000
/** So many at a time go their own way: while one waits for its commit, another is at work. */
const ownWay = 2

/** A small batch that waits for company. */
interface Waiting {
  readonly decisions: Decisions
  /** Whether it would be a single statement. */
  readonly single: boolean
  /** Given nothing, it was not completed, or nobody knows. */
  readonly resolve: (completion: Completion | undefined) => void
}

/**
 * Completions of a topic's small batches, several in one transaction: those that come while others are under way go along with the next. None
 * waits for more to come. If the shared commit fails, each batch is tried alone; if its outcome is unknown, the fence rejects duplicates.
 */
export class SharedCompletions<Transaction> {
  readonly #environment: Pick<BatchEnvironment<Transaction>, 'dispatcher' | 'repository' | 'topic'>
  #underWay = 0
  #waiting: Waiting[] = []
  /** What many share is no part of the context of the one who happens to come first. */
  readonly #detached = AsyncLocalStorage.snapshot()

  constructor(environment: Pick<BatchEnvironment<Transaction>, 'dispatcher' | 'repository' | 'topic'>) {
    this.#environment = environment
  }

  /**
   * @param alone completes these decisions by themselves; never rejects. It calls back when it has to wait for somebody: nobody is to wait for it
   * @returns nothing where `alone` did it
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
    // mutants: equivalent boundary number:1, the first is never too large
    return this.#waiting.splice(0, end < 0 ? this.#waiting.length : end)
  }

  /** Never rejects. */
  async #completeAll(together: readonly Waiting[]): Promise<void> {
    const { dispatcher, repository, topic } = this.#environment
    // In order, as each batch is: whoever else locks these rows does so in order too.
    const all = new Map(
      together.flatMap(({ decisions }) => [...decisions]).toSorted(([left], [right]) => left.sequence - right.sequence),
    )
    const single = together.every((each) => each.single)
    const shared = await dispatcher
      .once<Completion>((transaction) => repository.complete(transaction, topic, all), { single })
      .catch(() => undefined)
    const done = new Set(shared?.completed)
    for (const { decisions, resolve } of together) {
      const tasks = [...decisions.keys()]
      resolve(shared && { completed: tasks.filter((task) => done.has(task)), lost: tasks.filter((task) => !done.has(task)) })
    }
  }
}
