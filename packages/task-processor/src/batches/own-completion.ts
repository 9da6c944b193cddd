import type { Completion, HeldTask, Holding } from '@taskstream/task-api'
import type { Completing, CompletingEnvironment } from './completing.ts'
import { complement } from './decisions.ts'
import type { Lift } from '../core/dispatcher.ts'
import type { Patience } from '../core/patience.ts'
import type { Decisions, HandlerContext } from '../core/task-handler.ts'

type Decide<Transaction> = Extract<Parameters<HandlerContext<Transaction>['complete']>[0], (...args: never[]) => unknown>

interface Failure {
  readonly error: unknown
  readonly by: 'handler' | 'completing' | 'given up'
}

/** A completion with what the handler writes, in one transaction: all of it, or nothing. */
export class OwnCompletion<Transaction> {
  readonly #environment: CompletingEnvironment<Transaction>
  readonly #decide: Decide<Transaction>
  /** What `decide` threw, at its last run. */
  #thrown: { readonly error: unknown } | undefined
  #decisions: Decisions = new Map()
  /** Whether there was a transaction, the last time. */
  #begun = false
  #failure: Failure | undefined
  /** A message could not be stored: all are to be such as any database can. */
  #ascii = false

  constructor(environment: CompletingEnvironment<Transaction>, decide: Decide<Transaction>) {
    this.#environment = environment
    this.#decide = decide
  }

  /** What an error came of, if it is the one that this has failed with; `given up`: of what is repeated until nobody waits any more. */
  failureBy(error: unknown): Failure['by'] | undefined {
    return this.#failure && this.#failure.error === error ? this.#failure.by : undefined
  }

  /**
   * Runs `decide` again when the database went away, or is short of something: of a commit whose outcome is unknown the fence tells, and nothing
   * takes effect twice. Once more when what it decided could not be written, as that may be for the messages.
   *
   * @throws what `decide` throws; what kept it from being completed
   */
  async run(tasks: readonly HeldTask[], completing: Completing<Transaction>, patience: Patience): Promise<Completion> {
    const { dispatcher } = this.#environment
    for (;;) {
      try {
        const completion = await dispatcher.persist<Completion>((transaction, lift) => this.#attempt(transaction, tasks, lift), {
          patience,
          onRetry: (error) => {
            completing.condition.failed(error)
            this.#begun = false
          },
          isForeign: (error) => this.#isHandlers(error),
        })
        completing.condition.worked()
        return completing.completed(completion, this.#decisions)
      } catch (error) {
        const foreign = this.#isHandlers(error)
        const passing = dispatcher.isPassing(error, this.#begun, foreign)
        if (this.#ascii || foreign || passing || !this.#isEscapable()) {
          this.#failure = { error, by: passing ? 'given up' : foreign ? 'handler' : 'completing' }
          throw error
        }
        this.#ascii = true
      }
    }
  }

  async #attempt(transaction: Transaction, tasks: readonly HeldTask[], lift: Lift): Promise<Completion> {
    const { topic, repository } = this.#environment
    this.#begun = true
    this.#thrown = undefined
    this.#decisions = new Map()
    const { held, lost }: Holding = await repository.hold(transaction, topic, tasks)
    const decisions = await lift(() => this.#decided(transaction, held))
    this.#decisions = this.#ascii ? inAscii(decisions) : decisions
    const { completed }: Completion = await repository.complete(transaction, topic, this.#decisions, { strict: true })
    return { completed, lost }
  }

  async #decided(transaction: Transaction, held: readonly HeldTask[]): Promise<Decisions> {
    try {
      return complement(held, await this.#decide(transaction, held))
    } catch (error) {
      this.#thrown = { error }
      throw error
    }
  }

  #isHandlers(error: unknown): boolean {
    return this.#thrown !== undefined && this.#thrown.error === error
  }

  #isEscapable(): boolean {
    return [...this.#decisions.values()].some((decision) => decision.inAscii() !== decision)
  }
}

function inAscii(decisions: Decisions): Decisions {
  return new Map([...decisions].map(([task, decision]) => [task, decision.inAscii()]))
}
