import { isPassing, isTaskError } from '@taskstream/task-api'
import type { TaskErrorCode, TransactionSource } from '@taskstream/task-api'
import type { Condition } from './listener.ts'
import type { Patience } from './patience.ts'

interface PersistOptions {
  readonly patience: Patience
  readonly onRetry: (error: unknown) => void
  /** Whether an error was thrown by code that is not ours, which `work` called in the transaction. */
  readonly isForeign: (error: unknown) => boolean
}

/** What keeps a process out before it has a transaction: somebody is at work on the database, or on who may do what in it. */
const refusals: ReadonlySet<TaskErrorCode> = new Set(['AUTHENTICATION_FAILED', 'DATABASE_MISSING', 'PERMISSION_DENIED'])

/** Opens every transaction that the processor has. */
export class Dispatcher<Transaction> {
  readonly #transactions: TransactionSource<Transaction>

  constructor(transactions: TransactionSource<Transaction>) {
    this.#transactions = transactions
  }

  /** `single`: what `work` does is one statement, or several that may be committed one by one. */
  once<Result>(work: (transaction: Transaction) => Result | Promise<Result>, single = false): Promise<Result> {
    const { autocommit } = this.#transactions
    return single && autocommit ? autocommit(work) : this.#transactions(work)
  }

  /** Goes on until the database answers, or nobody waits any more. After a commit whose outcome is unknown the fence tells what was done. */
  async persist<Result>(
    work: (transaction: Transaction) => Result | Promise<Result>,
    { patience, onRetry, isForeign }: PersistOptions,
  ): Promise<Result> {
    for (let count = 1; ; count++) {
      let begun = false
      try {
        return await this.once((transaction) => {
          begun = true
          return work(transaction)
        })
      } catch (error) {
        const foreign = isForeign(error)
        if (patience.isOver || !this.isPassing(error, begun, foreign)) throw error
        onRetry(foreign ? this.#named(error) : error)
        await patience.pause(count)
      }
    }
  }

  /** With patience it goes on as `persist` does, and `condition` is told; without, it is tried once. */
  async patiently<Result>(
    work: (transaction: Transaction) => Result | Promise<Result>,
    patience: Patience | undefined,
    condition: Pick<Condition, 'failed' | 'worked'>,
  ): Promise<Result> {
    if (!patience) return this.once(work)
    const result = await this.persist(work, {
      patience,
      onRetry: (error) => condition.failed(error),
      isForeign: () => false,
    })
    condition.worked()
    return result
  }

  /**
   * Whether an error is of the moment, and not of what was to be done.
   *
   * @param begun whether there was a transaction: what is refused before (a password, say) is nobody's fault who works in one
   * @param foreign whether code that is not ours threw it in the transaction: then it must be the database's own word
   */
  isPassing(error: unknown, begun: boolean, foreign = false): boolean {
    if (!begun && (!isTaskError(error) || refusals.has(error.code))) return true
    return isPassing(foreign ? this.#named(error) : error)
  }

  /** What the database says of an error that is not ours: nothing, where it is not the database's. */
  #named(error: unknown): unknown {
    const { classify } = this.#transactions
    return classify ? classify(error) : error
  }
}
