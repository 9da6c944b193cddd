import { AsyncLocalStorage } from 'node:async_hooks'
import type { Completion, HeldTask, TaskDecision } from '@taskstream/task-api'
import type { BatchEnvironment } from './batch.ts'
import { isSingleStatement } from './decisions.ts'
import type { Decisions } from '../core/task-handler.ts'

/** A batch of so many tasks gains nothing from sharing a transaction. */
const largeBatch = 1_000
/** How many tasks one transaction completes at most. Further batches wait for the next. */
const mostTasks = 1_000
/** How many completions run at a time: while one waits for its commit, another is at work. */
const ownWay = 2

/** A small batch that waits for the next shared completion. */
interface Waiting {
  readonly decisions: Decisions
  /** Whether its completion is a single statement, unless more is kept of a decision than its row. */
  readonly single: boolean
  /** Called with `alone` if there is no company, and with undefined if the batch was not completed, or if the outcome is unknown. */
  readonly resolve: (completion: Completion | 'alone' | undefined) => void
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
    const completion = await new Promise<Completion | 'alone' | undefined>((resolve) => {
      this.#waiting.push({ decisions, single, resolve })
      if (this.#waiting.length === 1 && this.#underWay < ownWay) this.#beginSoon()
    })
    if (completion !== undefined && completion !== 'alone') return completion
    if (completion === undefined) {
      await alone()
      return undefined
    }
    let end = this.#end
    const giveWay = (): void => {
      end()
      end = () => {}
    }
    await alone(giveWay)
    giveWay()
    return undefined
  }

  /** Begins once everything has gone on that goes on by itself: batches whose handlers return in the same turn go together. */
  #beginSoon(): void {
    this.#detached(() => process.nextTick(this.#begin))
  }

  readonly #end = (): void => {
    this.#underWay--
    this.#begin()
  }

  readonly #begin = (): void => {
    while (this.#underWay < ownWay && this.#waiting.length > 0) {
      const together = this.#take()
      this.#underWay++
      if (together.length === 1) together[0]!.resolve('alone')
      else void this.#detached(() => this.#completeAll(together)).finally(this.#end)
    }
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
    const all = new Map<HeldTask, TaskDecision>()
    // This makes no pair for each task.
    for (const { decisions } of together) decisions.forEach((decision, task) => all.set(task, decision))
    const single = together.every((each) => each.single) && isSingleStatement(all) && !discard
    const shared = await dispatcher
      .once<Completion>((transaction) => repository.complete(transaction, topic, all, discard && { discard }), { single })
      .catch(() => undefined)
    const lost = new Set(shared?.lost)
    for (const { decisions, resolve } of together) resolve(shared && partOf(decisions, lost))
  }
}

/** The part of a shared completion that is of one batch. */
function partOf(decisions: Decisions, lost: ReadonlySet<HeldTask>): Completion {
  const tasks = [...decisions.keys()]
  if (lost.size === 0) return { completed: tasks, lost: [] }
  return { completed: tasks.filter((task) => !lost.has(task)), lost: tasks.filter((task) => lost.has(task)) }
}
