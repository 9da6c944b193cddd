import { abortedBy, abortOf, isPassing, isTaskError, TaskError } from '@taskstream/task-api'
import type { Execution, TaskErrorCode, TaskRepository, TransactionOptions, TransactionSource } from '@taskstream/task-api'
import type { Condition } from './listener.ts'
import type { Patience } from './patience.ts'
import { TimeLimit, TimeLimits } from './time-limit.ts'

export interface DispatcherOptions<Transaction> {
  readonly repository: Pick<TaskRepository<Transaction, Execution>, 'limitStatements'>
  readonly transactions: TransactionSource<Transaction>
  /** How long the database may take for each step of a transaction, in milliseconds. */
  readonly statementTimeoutMs: number
}

interface OnceOptions extends TransactionOptions {
  /** Whether `work` is a single statement, or several that may be committed one by one. */
  readonly single?: boolean
  /** The time limit of each step, in milliseconds. Default: the dispatcher's. */
  readonly statementTimeoutMs?: number
  /** Whether code of the user runs in the transaction. Such code has no time limit, so the server is not asked to limit statements. */
  readonly foreign?: boolean
}

interface PersistOptions {
  readonly patience: Patience
  readonly onRetry: (error: unknown) => void
  /** Tells whether the user's code, which `work` called in the transaction, threw an error. */
  readonly isForeign: (error: unknown) => boolean
}

/** Errors that count as passing before a transaction has begun, as somebody may be changing the database or its permissions. */
const refusals: ReadonlySet<TaskErrorCode> = new Set(['AUTHENTICATION_FAILED', 'DATABASE_MISSING', 'PERMISSION_DENIED'])

/** Errors of a database that is away as a whole, so that any answer of it says that it is back. */
const absences: ReadonlySet<TaskErrorCode> = new Set(['DATABASE_UNAVAILABLE', 'DATABASE_READ_ONLY'])

/** Between two wakes, in milliseconds: work that fails each time must not be repeated as often as others succeed. */
const wakeMs = 1_000

/** For how long after a timeout the server is asked to limit statements itself. */
const carefulMs = 60_000

/** Runs code of the user without the time limit. @throws TaskError TRANSACTION_CLOSED if the database has ended the transaction meanwhile */
export type Lift = TimeLimit['lift']

/** Opens all transactions of the processor, each with a time limit. */
export class Dispatcher<Transaction> {
  readonly #options: DispatcherOptions<Transaction>
  readonly #open = new TimeLimits()
  #closed: TaskError | undefined
  /** Until when the server is asked to limit statements itself. */
  #carefulUntilMs = -Infinity
  /** Who waits for a database that is away. */
  readonly #waiting = new Set<Patience>()
  #wokenMs = -Infinity

  constructor(options: DispatcherOptions<Transaction>) {
    this.#options = options
  }

  /**
   * Runs `work` in a transaction. The transaction source may begin several, one after the other.
   *
   * @throws the error of the transaction; TaskError DATABASE_BUSY or DATABASE_UNAVAILABLE if it was given up, and then its outcome may be unknown
   */
  async once<Result>(
    work: (transaction: Transaction, lift: Lift) => Result | Promise<Result>,
    options: OnceOptions = {},
  ): Promise<Result> {
    const { single = false, statementTimeoutMs = this.#options.statementTimeoutMs, foreign = false } = options
    const abort = abortOf(options)
    const { transactions, repository } = this.#options
    // A statement that was given up may still wait for a lock on the server. The server limits the next ones, so that they do not accumulate.
    const isCareful = !foreign && performance.now() < this.#carefulUntilMs
    const alone = single && !isCareful ? transactions.autocommit : undefined
    const limit = new TimeLimit(statementTimeoutMs, alone !== undefined)
    const lift: Lift = async (foreignWork) => {
      const result = await limit.lift(foreignWork)
      // Otherwise what follows would be committed, without what others did in the transaction before.
      if (transactions.isOpen?.() === false)
        throw new TaskError('TRANSACTION_CLOSED', 'An error was ignored inside the transaction: it was rolled back')
      return result
    }
    const carefully = async (transaction: Transaction): Promise<Result> => {
      await repository.limitStatements(transaction, statementTimeoutMs)
      return work(transaction, lift)
    }
    const limited = (transaction: Transaction): Promise<Result> =>
      limit.work(() => (isCareful ? carefully(transaction) : work(transaction, lift)))
    const forget = abort?.onAbort(() => limit.end(abort.reason as TaskError))
    this.#open.add(limit)
    try {
      if (this.#closed) throw this.#closed
      abort?.throwIfAborted()
      const result = await limit.of((alone ?? transactions)(limited, abortedBy(limit.controller)))
      if (this.#waiting.size > 0) this.#wake()
      return result
    } catch (error) {
      if (limit.isOver || (!foreign && isTooLate(error))) this.#carefulUntilMs = performance.now() + carefulMs
      throw error
    } finally {
      this.#open.delete(limit)
      forget?.()
    }
  }

  /** Whether a transaction can be given up while the user's code still uses it. */
  get mayAbandon(): boolean {
    return this.#options.transactions.closesAbandoned === true
  }

  /** Runs a part of a transaction's work that has begun elsewhere. */
  within<Result>(transaction: Transaction, part: () => Result): Result {
    const { within } = this.#options.transactions
    return within ? within(transaction, part) : part()
  }

  /** The dispatcher as a transaction source. */
  get source(): TransactionSource<Transaction> {
    const { transactions } = this.#options
    const source: TransactionSource<Transaction> = (work, options) => this.once(work, options)
    return Object.defineProperties(source, {
      connections: { get: () => transactions.connections },
      inside: { get: () => transactions.inside },
      ...(transactions.autocommit && {
        autocommit: { value: (...[work, options]: Parameters<typeof source>) => this.once(work, { ...options, single: true }) },
      }),
      ...(transactions.classify && { classify: { value: transactions.classify } }),
      ...(transactions.within && { within: { value: transactions.within } }),
    })
  }

  /** Stops the timer unless a transaction is under way. */
  rest(): void {
    this.#open.rest()
  }

  /** Gives up all transactions under way, as nobody waits for them any more. */
  end(reason: TaskError): void {
    this.#open.end(reason)
  }

  /** Gives up all transactions under way, and refuses further ones with `reason`. */
  close(reason: TaskError): void {
    this.#closed = reason
    this.end(reason)
  }

  /** Repeats `work` until the database answers or the patience is over. After a commit with an unknown outcome, the fence rejects duplicates. */
  async persist<Result>(
    work: (transaction: Transaction, lift: Lift) => Result | Promise<Result>,
    { patience, onRetry, isForeign }: PersistOptions,
  ): Promise<Result> {
    for (let count = 1; ; count++) {
      let begun = false
      try {
        const working = (transaction: Transaction, lift: Lift): Result | Promise<Result> => {
          begun = true
          return work(transaction, lift)
        }
        return await this.once(working, { foreign: true })
      } catch (error) {
        const foreign = isForeign(error)
        if (patience.isOver || !this.isPassing(error, begun, foreign)) throw error
        onRetry(foreign ? this.named(error) : error)
        await this.pause(patience, count, error)
      }
    }
  }

  /** Pauses after the `count`th failure in a row. After an absence of the database the pause ends when any other transaction has been answered. */
  async pause(patience: Patience, count: number, error: unknown): Promise<void> {
    const isAway = isTaskError(error) && absences.has(error.code)
    if (isAway) this.#waiting.add(patience)
    await patience.pause(count)
    this.#waiting.delete(patience)
  }

  #wake(): void {
    const nowMs = performance.now()
    if (nowMs < this.#wokenMs + wakeMs) return
    this.#wokenMs = nowMs
    for (const patience of this.#waiting) patience.wake()
  }

  /** Repeats `work` as `persist` does, and reports failures to `condition`. Without patience, `work` is tried once. */
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
   * Tells whether an error is passing, so that the same work may succeed later.
   *
   * @param begun whether a transaction had begun. An error before that, such as a refused password, is not the fault of the work
   * @param foreign whether the user's code threw the error. Then the error is passing only if it comes from the database
   */
  isPassing(error: unknown, begun: boolean, foreign = false): boolean {
    if (!begun && (!isTaskError(error) || refusals.has(error.code))) return true
    return isPassing(foreign ? this.named(error) : error)
  }

  /** Classifies an error of the user's code. Returns undefined if the error does not come from the database. */
  named(error: unknown): unknown {
    const { classify } = this.#options.transactions
    return classify ? classify(error) : error
  }
}

function isTooLate(error: unknown): boolean {
  return isTaskError(error, 'DATABASE_BUSY') && error.data['shortOf'] === 'time'
}
