import type { Completion, HeldTask, Holding } from '@taskstream/task-api'
import type { BatchEnvironment } from './batch.ts'
import type { Completing, CompletingEnvironment } from './completing.ts'
import { complement } from './decisions.ts'
import type { Lift } from '../core/dispatcher.ts'
import type { Patience } from '../core/patience.ts'
import type { Decisions, HandlerContext } from '../core/task-handler.ts'

type Decide<Transaction> = Extract<Parameters<HandlerContext<Transaction>['complete']>[0], (...args: never[]) => unknown>

type Environment<Transaction> = CompletingEnvironment<Transaction> & Pick<BatchEnvironment<Transaction>, 'commits'>

interface Failure {
  readonly error: unknown
  readonly by: 'handler' | 'completing' | 'given up'
}

/** A completion in one transaction with the handler's own writes: both are committed, or neither. */
export class OwnCompletion<Transaction> {
  readonly #environment: Environment<Transaction>
  readonly #decide: Decide<Transaction>
  /** The error that `decide` threw in its last run. */
  #thrown: { readonly error: unknown } | undefined
  #decisions: Decisions = new Map()
  /** Whether the last attempt had a transaction. */
  #begun = false
  #failure: Failure | undefined
  /** Whether messages are written in ASCII, which every database can store, as a message could not be stored before. */
  #ascii = false

  constructor(environment: Environment<Transaction>, decide: Decide<Transaction>) {
    this.#environment = environment
    this.#decide = decide
  }

  /**
   * Says where an error came from, if this completion failed with it. `given up`: a passing error of the database, after which nobody waited for
   * another attempt.
   */
  failureBy(error: unknown): Failure['by'] | undefined {
    return this.#failure && this.#failure.error === error ? this.#failure.by : undefined
  }

  /**
   * Runs `decide` in a transaction and completes. Runs `decide` again if the database went away or is short of something. After a commit with an
   * unknown outcome, `hold` finds the tasks that are still held, so nothing takes effect twice. If the decisions could not be written, `decide` runs
   * once more with messages in ASCII.
   *
   * @throws the error of `decide`; the error that kept the batch from being completed
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
        if (passing || !this.#isEscapable()) {
          this.#failure = { error, by: passing ? 'given up' : foreign ? 'handler' : 'completing' }
          throw error
        }
        this.#ascii = true
      }
    }
  }

  async #attempt(transaction: Transaction, tasks: readonly HeldTask[], lift: Lift): Promise<Completion> {
    const { discard, topic, repository } = this.#environment
    this.#begun = true
    this.#thrown = undefined
    this.#decisions = new Map()
    const { held, lost }: Holding = await repository.hold(transaction, topic, tasks)
    const decisions = await lift(() => this.#decided(transaction, held))
    this.#decisions = this.#ascii ? inAscii(decisions) : decisions
    const { completed }: Completion = await repository.complete(transaction, topic, this.#decisions, {
      strict: true,
      ...(discard && { discard }),
    })
    return { completed, lost }
  }

  /** Runs the handler's function. */
  readonly decide = async (transaction: Transaction, held: readonly HeldTask[]): Promise<Decisions> =>
    complement(held, await this.#decide(transaction, held))

  async #decided(transaction: Transaction, held: readonly HeldTask[]): Promise<Decisions> {
    try {
      return await this.#environment.commits.measured(() => this.decide(transaction, held))
    } catch (error) {
      this.#thrown = { error }
      throw error
    }
  }

  #isHandlers(error: unknown): boolean {
    return this.#thrown !== undefined && this.#thrown.error === error
  }

  /** Whether something is left to write in ASCII: nothing after a run in ASCII, or after one in which `decide` threw. */
  #isEscapable(): boolean {
    return [...this.#decisions.values()].some((decision) => decision.inAscii() !== decision)
  }
}

function inAscii(decisions: Decisions): Decisions {
  return new Map([...decisions].map(([task, decision]) => [task, decision.inAscii()]))
}
