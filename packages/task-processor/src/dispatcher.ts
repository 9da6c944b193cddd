import type { TransactionSource } from '@taskstream/task-api'
import { isTaskError } from '@taskstream/task-api'
import { pauseMs } from './retry-policy.ts'
import type { Wake } from './wake.ts'

const firstPauseMs = 50
const longestPauseMs = 5_000

interface PersistOptions {
  /** Asked after each failure: nobody waits any more. */
  readonly givenUp: () => boolean
  readonly wake: Wake
  readonly onRetry: (error: unknown) => void
  /** As of `once`. */
  readonly single?: boolean
}

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

  /**
   * Goes on until the database answers, or it is given up: what is held must be let go of in some way, or it would stay held for
   * as long as its owner lives. After a commit whose outcome is unknown the fence tells: what was completed is reported as lost.
   */
  async persist<Result>(
    work: (transaction: Transaction) => Result | Promise<Result>,
    { givenUp, wake, onRetry, single = false }: PersistOptions,
  ): Promise<Result> {
    for (let count = 1; ; count++) {
      try {
        return await this.once(work, single)
      } catch (error) {
        if (givenUp() || !isPassing(error)) throw error
        onRetry(error)
        await wake.sleep(wake.version, pauseMs(count, firstPauseMs, 2, longestPauseMs, 0.5))
      }
    }
  }
}

/** Failures that are of the moment, and not of the work. */
const passing = ['DATABASE_UNAVAILABLE', 'DATABASE_READ_ONLY', 'DATABASE_BUSY', 'TRANSACTION_CONFLICT'] as const

export function isPassing(error: unknown): boolean {
  return passing.some((code) => isTaskError(error, code))
}
