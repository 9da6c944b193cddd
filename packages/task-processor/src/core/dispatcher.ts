import { abortedBy, abortOf, isPassing, isTaskError } from '@taskstream/task-api'
import type {
  Execution,
  TaskError,
  TaskErrorCode,
  TaskRepository,
  TransactionOptions,
  TransactionSource,
} from '@taskstream/task-api'
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
  /** What `work` does is one statement, or several that may be committed one by one. */
  readonly single?: boolean
  /** Default: that of all. */
  readonly statementTimeoutMs?: number
  /** Somebody else's code has a part in it, which has no limit: the server is not asked to limit anything. */
  readonly foreign?: boolean
}

interface PersistOptions {
  readonly patience: Patience
  readonly onRetry: (error: unknown) => void
  /** Whether an error was thrown by code that is not ours, which `work` called in the transaction. */
  readonly isForeign: (error: unknown) => boolean
}

/** What keeps a process out before it has a transaction: somebody is at work on the database, or on who may do what in it. */
const refusals: ReadonlySet<TaskErrorCode> = new Set(['AUTHENTICATION_FAILED', 'DATABASE_MISSING', 'PERMISSION_DENIED'])

/** How long the server is asked to end statements by itself, after one took too long. */
const carefulMs = 60_000

/** Lifts the limit for what is not ours: it takes as long as it takes. */
export type Lift = TimeLimit['lift']

/** Opens every transaction that the processor has, and waits for none for ever. */
export class Dispatcher<Transaction> {
  readonly #options: DispatcherOptions<Transaction>
  readonly #open = new TimeLimits()
  #closed: TaskError | undefined
  /** Until when the server is to end by itself what takes too long. */
  #carefulUntilMs = -Infinity

  constructor(options: DispatcherOptions<Transaction>) {
    this.#options = options
  }

  /**
   * One transaction, or as many as its source begins for it.
   *
   * @throws what it throws; TaskError DATABASE_BUSY, DATABASE_UNAVAILABLE when it was given up: its outcome may be unknown
   */
  async once<Result>(
    work: (transaction: Transaction, lift: Lift) => Result | Promise<Result>,
    options: OnceOptions = {},
  ): Promise<Result> {
    const { single = false, statementTimeoutMs = this.#options.statementTimeoutMs, foreign = false } = options
    const abort = abortOf(options)
    const { transactions, repository } = this.#options
    // What was given up may wait on the server for as long as a lock is held: the next is to end by itself, or they would become many.
    const isCareful = !foreign && performance.now() < this.#carefulUntilMs
    const alone = single && !isCareful ? transactions.autocommit : undefined
    const limit = new TimeLimit(statementTimeoutMs, alone !== undefined)
    const lift: Lift = (foreignWork) => limit.lift(foreignWork)
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
      return await limit.of((alone ?? transactions)(limited, abortedBy(limit.controller)))
    } catch (error) {
      if (limit.isOver || (!foreign && isTooLate(error))) this.#carefulUntilMs = performance.now() + carefulMs
      throw error
    } finally {
      this.#open.delete(limit)
      forget?.()
    }
  }

  /** The same as a source of transactions, for what knows of nothing else. */
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
    })
  }

  /** There is nothing more to be done for now. */
  rest(): void {
    this.#open.rest()
  }

  /** Gives up whatever is under way: nobody waits for it any more. */
  end(reason: TaskError): void {
    this.#open.end(reason)
  }

  /** The same, and opens no more: whoever goes on to try hears that there is nothing to wait for. */
  close(reason: TaskError): void {
    this.#closed = reason
    this.end(reason)
  }

  /** Goes on until the database answers, or nobody waits any more. After a commit whose outcome is unknown the fence tells what was done. */
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
    const { classify } = this.#options.transactions
    return classify ? classify(error) : error
  }
}

function isTooLate(error: unknown): boolean {
  return isTaskError(error, 'DATABASE_BUSY') && error.data['shortOf'] === 'time'
}
