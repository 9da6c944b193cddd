import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import { TaskError } from '@taskstream/task-api'
import type { Completion, HeldTask, Holding } from '@taskstream/task-api'
import type { BatchEnvironment } from './batch.ts'
import type { Lift } from '../core/dispatcher.ts'
import type { Decisions } from '../core/task-handler.ts'

type Environment<Transaction> = Pick<BatchEnvironment<Transaction>, 'discard' | 'dispatcher' | 'repository' | 'topic' | 'clock'>

/** A batch that is to be completed in one transaction with its handler's own writes. */
export interface Commit<Transaction> {
  readonly tasks: readonly HeldTask[]
  /** Runs the handler's function, and returns a decision for each task that is held. */
  decide(transaction: Transaction, held: readonly HeldTask[]): Promise<Decisions>
}

/** The outcome of a batch that was completed together with others. */
export interface Committed {
  readonly completion: Completion
  readonly decisions: Decisions
}

interface Waiting<Transaction> {
  readonly commit: Commit<Transaction>
  /** The AsyncLocalStorage context of the handler, as another handler may have begun the transaction. */
  readonly within: AsyncResource
  /** Called with undefined if the batch is to be completed alone. */
  readonly resolve: (committed: Committed | undefined) => void
  /** Whether the batch is to be completed alone, as a transaction that it shared has failed. */
  readonly alone?: true
}

/** A batch of so many tasks gains nothing from sharing a transaction. */
const largeBatch = 100
/** How many transactions run at a time before others wait to share one: while one waits for its commit, another is at work. */
const ownWay = 2
/** How long a transaction keeps others waiting, and how long the functions that share one may take together, in milliseconds. */
const mostMs = 25
/** How long the function of one commit may keep its company waiting, in milliseconds. Then the shared transaction is given up. */
const longestMs = 2_000

/**
 * Completes a topic's small batches with their handlers' own writes, several in one transaction. Commits that come while others are under way share the
 * next transaction, in the order of their tasks, and none waits for company. If anything fails in a shared transaction, it is rolled back, and each of
 * its commits is run alone. Commits that take long are not shared, and others do not wait for them; one that hangs all the same is left to itself.
 */
export class SharedCommits<Transaction> {
  readonly #environment: Environment<Transaction>
  readonly #share: number
  readonly #waiting: Waiting<Transaction>[] = []
  #underWay = 0
  /** About how long the function of a commit takes, in milliseconds. Undefined before the first. */
  #workMs: number | undefined
  readonly #detached = AsyncLocalStorage.snapshot()

  /** @param share how many commits may share a transaction */
  constructor(environment: Environment<Transaction>, share: number) {
    this.#environment = environment
    this.#share = share
  }

  /**
   * Completes a batch alone, or together with others.
   *
   * @param alone completes the batch alone. Its error is thrown
   * @returns undefined if `alone` completed the batch
   */
  async complete(commit: Commit<Transaction>, alone: () => Promise<void>): Promise<Committed | undefined> {
    if (this.#share === 1 || commit.tasks.length >= largeBatch) {
      await alone()
      return undefined
    }
    const { promise, resolve } = Promise.withResolvers<Committed | undefined>()
    this.#waiting.push({ commit, within: new AsyncResource('taskstream.commit'), resolve })
    this.#begin()
    const committed = await promise
    // What is to run alone was counted when that was decided.
    if (!committed) await this.#counted(alone)
    return committed
  }

  /** Measures the function of a commit. */
  async measured<Result>(work: () => Promise<Result>): Promise<Result> {
    const begunMs = this.#environment.clock.monotonicMs()
    try {
      return await work()
    } finally {
      const tookMs = this.#environment.clock.monotonicMs() - begunMs
      this.#workMs = this.#workMs === undefined ? tookMs : 0.8 * this.#workMs + 0.2 * tookMs
    }
  }

  /** Runs work that counts as under way, for a while at most. */
  async #counted(work: () => Promise<void>): Promise<void> {
    let isCounted = true
    const end = (): void => {
      if (!isCounted) return
      isCounted = false
      this.#underWay--
      this.#begin()
    }
    const cancel = this.#environment.clock.after(mostMs, end)
    try {
      await work()
    } finally {
      cancel()
      end()
    }
  }

  /** Begins transactions for what waits. */
  #begin(): void {
    while (this.#underWay < ownWay) {
      const together = this.#take()
      if (together.length === 0) return
      this.#underWay++
      if (together.length === 1) together[0]!.resolve(undefined)
      else void this.#detached(() => this.#counted(() => this.#completeAll(together)))
    }
  }

  #take(): Waiting<Transaction>[] {
    const most = Math.min(this.#share, Math.floor(mostMs / (this.#workMs ?? mostMs)))
    // Those that run alone stand before all others.
    return this.#waiting.splice(0, this.#waiting[0]?.alone ? 1 : Math.max(1, most))
  }

  /** Never rejects. */
  async #completeAll(together: readonly Waiting<Transaction>[]): Promise<void> {
    // The functions of earlier tasks run first, as they would alone.
    const inOrder = together.toSorted((left, right) => firstOf(left) - firstOf(right))
    const committed = await this.#environment.dispatcher
      .once((transaction, lift) => this.#attempt(inOrder, transaction, lift), { foreign: true })
      .catch(() => undefined)
    if (committed) for (const [index, { resolve }] of inOrder.entries()) resolve(committed[index])
    else {
      this.#waiting.unshift(...inOrder.map((one) => ({ ...one, alone: true as const })))
      this.#begin()
    }
  }

  /** Gives up the shared transaction if a function takes too long, where its connection can be closed under it. The function then runs again alone. */
  async #inTime(deciding: Promise<Decisions>): Promise<Decisions> {
    const { clock, dispatcher, topic } = this.#environment
    if (!dispatcher.mayAbandon) return deciding
    const late = Promise.withResolvers<never>()
    const cancel = clock.after(longestMs, () => late.reject(abandoned(topic)))
    try {
      return await Promise.race([deciding, late.promise])
    } finally {
      cancel()
    }
  }

  async #attempt(together: readonly Waiting<Transaction>[], transaction: Transaction, lift: Lift): Promise<Committed[]> {
    const { discard, dispatcher, topic, repository } = this.#environment
    const tasks = together.flatMap(({ commit }) => commit.tasks)
    const { held, lost }: Holding = await repository.hold(transaction, topic, tasks)
    const isHeld = new Set(held)
    const all: Decisions[] = []
    for (const { commit, within } of together) {
      const own = commit.tasks.filter((task) => isHeld.has(task))
      const run = (): Promise<Decisions> => dispatcher.within(transaction, () => commit.decide(transaction, own))
      const decide = (): Promise<Decisions> => this.measured(() => within.runInAsyncScope(run))
      all.push(await this.#inTime(lift(decide)))
    }
    const decisions = new Map(all.flatMap((each) => [...each]))
    await repository.complete(transaction, topic, decisions, { strict: true, ...(discard && { discard }) })
    const isLost = new Set(lost)
    return together.map(({ commit }, index) => ({
      decisions: all[index]!,
      completion: { completed: [...all[index]!.keys()], lost: commit.tasks.filter((task) => isLost.has(task)) },
    }))
  }
}

/** Makes the error by which a connection is closed, as a function may still use it. */
function abandoned(topic: string): TaskError {
  return new TaskError(
    'TRANSACTION_ABANDONED',
    `A commit of topic "${topic}" took longer than ${longestMs} ms, and others waited for it`,
    {
      topic,
    },
  )
}

function firstOf<Transaction>({ commit }: Waiting<Transaction>): number {
  return commit.tasks[0]!.sequence
}
