import { checkDuration, checkNames, isTaskError, optionNames, TaskError, thrownText } from '@taskstream/task-api'
import type { Execution, GroupMember, Outcome, TransactionSource } from '@taskstream/task-api'
import { Wake } from '@taskstream/task-processor'
import { Candidate } from './candidate.ts'
import { checkLeader } from './leader-options.ts'
import type { LeaderListener, LeaderOptions, LeaderSettings } from './leader-options.ts'
import { isReason, unlessAborted } from './signals.ts'
import { leadershipLost } from './tenure.ts'
import type { Tenure } from './tenure.ts'

/** What `run` gives its work. */
export interface Leadership<Transaction, E extends Execution = Execution> {
  /** The term of this leadership. A later leadership has a greater one, of whichever node. */
  readonly term: number
  /** Aborts when the node leads no longer, with LEADERSHIP_LOST or SHUTDOWN. */
  readonly signal: AbortSignal
  /** As `Leader.check`, for this term alone. */
  check(transaction: Transaction): Outcome<E, void>
  /** As `Leader.transaction`, for this term alone. */
  transaction<Result>(work: (transaction: Transaction) => Result | Promise<Result>): Promise<Result>
}

export interface LeaderStopOptions {
  /** How long `stop` waits for what runs, after its signal has aborted, in milliseconds. Default 10 000. */
  readonly graceMs?: number
  /** Whether another node may lead at once, if nothing that `run` has begun goes on. Default true. */
  readonly leave?: boolean
}

const stopNames = optionNames<LeaderStopOptions>('stop', { graceMs: true, leave: true })

/**
 * A node of a group of which one leads at a time. The leader sends heartbeats; when they stay away, another node takes over, with a greater term.
 *
 * A process that stood still does not know that others lead meanwhile. So a leader writes in transactions that check its term: one of an earlier term cannot
 * be committed.
 *
 * @throws TaskError ARGUMENT_INVALID
 * @example
 * await using leader = new Leader({ repository: tasks, transactions: pgTransactions(pool), groupId: 'billing' })
 * await leader.start()
 * await leader.run(async ({ signal, transaction }) => {
 *   while (!signal.aborted) await transaction((client) => billNext(client))
 * })
 */
export class Leader<Transaction, E extends Execution = Execution> implements AsyncDisposable {
  readonly #options: LeaderOptions<Transaction, E>
  readonly #settings: LeaderSettings
  readonly #candidate: Candidate<Transaction>
  readonly #listener: LeaderListener
  readonly #wake: Wake
  /** The work that goes on, each with the leadership in which it has begun. */
  readonly #runs = new Map<Promise<unknown>, Tenure>()
  /** Called at the next election, or when there will be none. */
  readonly #waiting = new Set<() => void>()
  #looking: Promise<unknown> | undefined
  #leaving: Promise<void> | undefined
  #state: 'new' | 'started' | 'stopped' = 'new'
  /** Why there will be no further election. */
  #over: TaskError | undefined
  #failed = false

  constructor(options: LeaderOptions<Transaction, E>) {
    this.#settings = checkLeader(options as LeaderOptions<never>)
    this.#options = options
    this.#listener = options.listener ?? {}
    this.#wake = new Wake(this.#settings.clock)
    const { member } = this.#settings
    this.#candidate = new Candidate<Transaction>(options as LeaderOptions<Transaction>, this.#settings, {
      onElected: ({ term }) => {
        this.#tell(() => this.#listener.onElected?.({ ...member, term }))
        this.#callWaiting()
      },
      onDeposed: ({ term }, reason) => {
        this.#tell(() => this.#listener.onDeposed?.({ ...member, term, reason }))
        this.#wake.wake()
      },
      isBound: () => [...this.#runs.values()].some((tenure) => !tenure.holds),
    })
  }

  /** Begins the work a moment later: it is known by then to a stop that it asks for itself. */
  async #begin<Result>(
    tenure: Tenure,
    work: (leadership: Leadership<Transaction, E>) => Result | Promise<Result>,
  ): Promise<Result> {
    await undefined
    tenure.signal.throwIfAborted()
    return work(this.#leadership(tenure))
  }

  /** The group, and this node's name in it. */
  get member(): GroupMember {
    return this.#settings.member
  }

  /** The term in which this node leads at this moment; undefined if it does not. */
  get term(): number | undefined {
    return this.#candidate.tenure?.term
  }

  /** Aborts when this node leads no longer; undefined if it does not lead at this moment. */
  get signal(): AbortSignal | undefined {
    return this.#candidate.tenure?.signal
  }

  /**
   * Enters the group, and leads it at once if nobody else does.
   *
   * @throws TaskError LIFECYCLE if it was started before, or is stopped meanwhile; SCHEMA_MISSING if there are no tables, or no keys; PERMISSION_DENIED; errors of the database
   */
  async start(): Promise<void> {
    if (this.#state !== 'new') throw new TaskError('LIFECYCLE', 'A leader starts once: make a new one to start again')
    this.#state = 'started'
    try {
      const entering = this.#candidate.prepare().then(() => this.#candidate.look())
      this.#looking = entering.catch(() => {})
      const pauseMs = await entering
      if (this.#over) throw this.#over
      this.#looking = this.#look(pauseMs)
    } catch (error) {
      if (this.#state === 'started') this.#state = 'new'
      throw error
    }
  }

  /**
   * Runs `work` when this node leads, and again whenever it leads anew after it had lost that, until `work` returns while the node leads. What `work` throws
   * after its signal has aborted is told to the listener, unless it is the reason of the abort. As long as work goes on whose signal has aborted, this node stands
   * by, and others may lead.
   *
   * @returns what `work` returned
   * @throws the error of `work` while the node leads; TaskError LIFECYCLE after a stop
   */
  async run<Result>(work: (leadership: Leadership<Transaction, E>) => Result | Promise<Result>): Promise<Result> {
    for (;;) {
      const tenure = await this.#elected()
      const running = this.#begin(tenure, work)
      this.#runs.set(running, tenure)
      try {
        const result = await running
        if (tenure.holds) return result
      } catch (error) {
        if (tenure.holds) throw error
        if (!isReason(error, tenure.signal)) this.#report(error)
      } finally {
        this.#runs.delete(running)
        if (!tenure.holds) this.#wake.wake()
      }
    }
  }

  /**
   * Makes sure that this node leads until the transaction ends: nobody takes over before. Call it last, as others may wait for it. The server ends the
   * connection if the transaction idles afterwards for so long that others should take over. On MariaDB and MySQL it counts whole seconds, and goes on with
   * that on this connection; SQLite has nothing like it.
   *
   * @param term Default: the term at this moment. Give the one in which the work began
   * @throws TaskError LEADERSHIP_LOST: roll back
   */
  check(transaction: Transaction, term: number | undefined = this.term): Outcome<E, void> {
    const { member, validMs } = this.#settings
    const { coordination } = this.#options.repository
    if (term === undefined) throw leadershipLost(member, 'does not lead')
    const judge = (held: boolean): void => {
      if (held) return
      const error = leadershipLost(member, `leads no longer in term ${term}: its row says so`, term)
      if (this.#candidate.tenure?.term === term) this.#candidate.depose(error)
      throw error
    }
    const limited = coordination.limitIdle(transaction, validMs)
    const holds = (): Outcome<E, boolean> => coordination.holds(transaction, member, term)
    return (
      limited instanceof Promise ? limited.then(holds).then((held) => judge(held as boolean)) : judge(holds() as boolean)
    ) as Outcome<E, void>
  }

  /**
   * Runs `work` in a transaction that commits only if this node leads then. When it leads no longer, the transaction is given up, even if the database does not
   * answer: then what it wrote is gone, unless its commit was under way.
   *
   * @throws TaskError LEADERSHIP_LOST; the error of `work`, after a rollback
   */
  async transaction<Result>(work: (transaction: Transaction) => Result | Promise<Result>): Promise<Result> {
    const { tenure } = this.#candidate
    if (!tenure) throw leadershipLost(this.member, 'does not lead')
    return this.#transaction(tenure, work)
  }

  #transaction<Result>(tenure: Tenure, work: (transaction: Transaction) => Result | Promise<Result>): Promise<Result> {
    const { repository, transactions } = this.#options
    const { signal } = tenure
    const source: TransactionSource<Transaction> = transactions
    const committed = source(
      async (transaction) => {
        await repository.coordination.limitIdle(transaction, this.#settings.validMs)
        const result = await work(transaction)
        await this.check(transaction, tenure.term)
        return result
      },
      { signal },
    )
    return unlessAborted(committed, signal)
  }

  /**
   * Leads no longer: the signals of what runs abort, and when all of it has ended, another node may lead at once. If something does not end, the others take
   * over when they have seen no heartbeat for long enough.
   *
   * @throws TaskError ARGUMENT_INVALID
   */
  async stop(options: LeaderStopOptions = {}): Promise<void> {
    checkNames(stopNames, options)
    const { graceMs = 10_000, leave = true } = options
    checkDuration('graceMs', graceMs)
    const { clock, lookTimeoutMs } = this.#settings
    const isFirst = this.#state !== 'stopped'
    this.#state = 'stopped'
    const over = new TaskError('LIFECYCLE', 'The leader was stopped: make a new one')
    this.#end(over)
    this.#candidate.close(over, new TaskError('SHUTDOWN', 'The leader is stopping'))
    this.#wake.wake()
    const { promise: graceOver, resolve } = Promise.withResolvers<'late'>()
    const cancel = clock.after(graceMs, () => resolve('late'))
    const ended = await Promise.race([Promise.allSettled(this.#runs.keys()), graceOver])
    cancel()
    const cancelLook = clock.after(lookTimeoutMs, () =>
      this.#candidate.end(new TaskError('DATABASE_UNAVAILABLE', 'The leader has stopped, and waits for the database no longer')),
    )
    await this.#looking
    cancelLook()
    // Whoever leaves while its work goes on would have two at work at once.
    if (isFirst) this.#leaving = this.#leave(leave && ended !== 'late')
    await this.#leaving
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop()
  }

  async #leave(mayFollow: boolean): Promise<void> {
    if (mayFollow) await this.#candidate.leave().catch((error: unknown) => this.#report(error))
    await this.#options.close?.()
  }

  async #look(firstPauseMs: number): Promise<void> {
    let pauseMs = firstPauseMs
    let { version } = this.#wake
    for (;;) {
      await this.#wake.sleep(version, pauseMs)
      if (this.#isStopped) return
      ;({ version } = this.#wake)
      try {
        pauseMs = await this.#candidate.look()
        if (this.#failed) this.#tell(() => this.#listener.onRecovered?.())
        this.#failed = false
      } catch (error) {
        pauseMs = this.#settings.heartbeatIntervalMs
        if (this.#isStopped) return
        const isTold = isTaskError(error, 'TASK_ID_TAKEN')
        if (isTold || !this.#failed) this.#report(error)
        this.#failed ||= !isTold
      }
    }
  }

  get #isStopped(): boolean {
    return this.#state === 'stopped'
  }

  /** Resolves when this node leads. @throws the error for which it never will */
  async #elected(): Promise<Tenure> {
    for (;;) {
      if (this.#over) throw this.#over
      const { tenure } = this.#candidate
      if (tenure) return tenure
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#waiting.add(resolve)
      await promise
    }
  }

  #end(reason: TaskError): void {
    this.#over ??= reason
    this.#callWaiting()
  }

  #callWaiting(): void {
    for (const call of this.#waiting) call()
    this.#waiting.clear()
  }

  #leadership(tenure: Tenure): Leadership<Transaction, E> {
    const { term, signal } = tenure
    return {
      term,
      signal,
      check: (transaction) => this.check(transaction, term),
      transaction: (work) => this.#transaction(tenure, work),
    }
  }

  #report(error: unknown): void {
    const { onError } = this.#listener
    if (onError) this.#tell(() => onError.call(this.#listener, error))
    else process.emitWarning(`The group "${this.member.groupId}": ${thrownText(error)}`)
  }

  #tell(call: () => unknown): void {
    const warn = (error: unknown): void =>
      process.emitWarning(`A listener of the group "${this.member.groupId}" threw: ${thrownText(error)}`)
    try {
      const told = call()
      if (told instanceof Promise) told.catch(warn)
    } catch (error) {
      warn(error)
    }
  }
}
