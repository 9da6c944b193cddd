import { isTaskError, TaskError } from '@taskstream/task-api'
import type { Completion, HeldTask, PollOptions, StuckTask } from '@taskstream/task-api'
import type { Batch, BatchEnvironment } from './batch.ts'
import type { Lift } from '../core/dispatcher.ts'
import { checkDecisions, complement, completedEvent, decisionsMissing } from './decisions.ts'
import { completedAlready, Handling } from './handling.ts'
import type { Decisions, HandlerContext } from '../core/task-handler.ts'

/**
 * A batch that is polled, handled and completed in one transaction. If anything goes wrong, the transaction is rolled back with its poll. A process
 * that dies leaves nothing to recover, and no try is counted.
 */
export class TransactionalBatch<Transaction> implements Batch {
  readonly isLeased = false
  readonly isWaiting = false
  readonly #environment: BatchEnvironment<Transaction>
  readonly #holdsSlots: () => boolean
  readonly #polled = Promise.withResolvers<readonly HeldTask[]>()
  /** Rejects when the transaction ends although the handler does not let go. */
  readonly #abandoned = Promise.withResolvers<never>()
  #run: Run<Transaction> | undefined
  /** Whether tasks that are polled from now on must not be handled. */
  #over = false
  /** Whether the lease was lost meanwhile, so that others may have been given the slots of these tasks. */
  #leaseLost = false
  #completion: Completion | undefined
  #returned: readonly HeldTask[] = []
  /** Whether the transaction was rolled back. */
  #failed = false
  /** Whether the transaction was rolled back by an error of the database, not of the handler. */
  #setback = false
  #ended: Promise<void> = Promise.resolve()

  /** @param holdsSlots whether nobody else can have the slots of these tasks. A limit on all tasks at a time would not be kept otherwise */
  constructor(environment: BatchEnvironment<Transaction>, holdsSlots: (leaseLost: boolean) => boolean = () => true) {
    this.#environment = environment
    this.#holdsSlots = () => holdsSlots(this.#leaseLost)
    this.#abandoned.promise.catch(() => {})
  }

  get tasks(): readonly HeldTask[] {
    return this.#run?.tasks ?? []
  }

  get finished(): readonly HeldTask[] {
    return this.#completion?.completed ?? []
  }

  get returned(): readonly HeldTask[] {
    return this.#returned
  }

  /** Always empty, as only the transaction holds tasks. */
  get undecided(): readonly HeldTask[] {
    return []
  }

  get leased(): readonly HeldTask[] {
    return []
  }

  /** Always empty, as a row says of no task of it that somebody holds it. */
  get stuck(): readonly StuckTask[] {
    return []
  }

  get setback(): boolean {
    return this.#setback
  }

  get ended(): Promise<void> {
    return this.#ended
  }

  /** Resolves when the handler's code has ended too, which may be later; never rejects. */
  get handled(): Promise<void> {
    return this.#run?.handled ?? this.#ended
  }

  get event(): Batch['event'] {
    return this.#run?.handling.event ?? { topic: this.#environment.topic, tasks: [] }
  }

  /** Whether the transaction was rolled back. The next polls are then leased, so that tries are counted. */
  get failed(): boolean {
    return this.#failed
  }

  /** Begins the transaction. @returns the polled tasks; rejects if the poll fails */
  begin(options: PollOptions): Promise<readonly HeldTask[]> {
    this.#ended = this.#transact(options)
    return this.#polled.promise
  }

  abort(reason: TaskError): void {
    this.#over = true
    if (reason.code === 'LEASE_LOST') this.#leaseLost = true
    this.#run?.handling.abort(reason)
  }

  /** Nobody can take a task that the batch's transaction has locked. */
  lose(): void {}

  async handBack(): Promise<void> {
    this.giveUp()
    await this.#ended
  }

  giveUp(): void {
    const { topic } = this.#environment
    const message = `A handler of topic "${topic}" did not let go of its transaction: it is rolled back, and its connection closed`
    this.#over = true
    this.#run?.abandon()
    this.#abandoned.reject(new TaskError('TRANSACTION_ABANDONED', message, { topic }))
  }

  /** Never rejects. */
  async #transact(options: PollOptions): Promise<void> {
    const { topic, repository, dispatcher, listener } = this.#environment
    let last: Run<Transaction> | undefined
    try {
      await dispatcher.once(
        async (transaction, lift) => {
          // The source may begin again after a rollback. The handler of the former attempt can then complete nothing.
          last?.rollBack(new TaskError('TRANSACTION_CONFLICT', 'The transaction was rolled back, and is begun again', { topic }))
          const tasks = await repository.poll(transaction, topic, { ...options, hold: 'transaction' })
          // Throws if the transaction was given up meanwhile, as the tasks are then handled elsewhere.
          await lift(() => {})
          if (this.#over && tasks.length > 0) {
            this.#polled.resolve([])
            throw new TaskError('SHUTDOWN', `Topic "${topic}" has stopped: what a poll under way brings is rolled back`)
          }
          this.#run = last =
            tasks.length > 0
              ? new Run(this.#environment, transaction, tasks, lift, {
                  onStuck: () => {
                    this.#environment.hung.add(this.handled)
                    this.giveUp()
                  },
                  holdsSlots: this.#holdsSlots,
                })
              : undefined
          this.#polled.resolve(tasks)
          // A poll without tasks is committed too, as it may have written: it removes entries of lists, say.
          if (last) await Promise.race([last.complete(), this.#abandoned.promise])
        },
        { foreign: true },
      )
    } catch (error) {
      this.#polled.reject(error)
      if (last) this.#rolledBack(last, error)
      return
    }
    if (!last?.completion) return
    this.#completion = last.completion
    this.#returned = last.left
    // None is lost, as the completion was strict.
    listener.onComplete(completedEvent(last.handling.event, last.completion, last.decisions))
    if (last.left.length > 0) listener.onReturned({ ...last.handling.event, tasks: last.left })
    last.commit()
    await last.handled
  }

  #rolledBack(run: Run<Transaction>, error: unknown): void {
    const { listener, dispatcher } = this.#environment
    const { aborted, event } = run.handling
    this.#failed = true
    this.#setback = run.isDatabases(error)
    // If the commit was not answered, nobody knows whether the tasks were returned.
    this.#returned = run.completion && isTaskError(error, 'DATABASE_UNAVAILABLE') ? [] : run.tasks
    run.rollBack(error)
    if (aborted && aborted.code !== 'TASK_TIMEOUT') listener.onReturned(event)
    else if (this.#setback) listener.onError({ ...event, activity: 'complete', error: dispatcher.named(error) ?? error })
    else listener.onError({ ...event, activity: 'handle', error })
  }
}

/** One attempt at the transaction. The transaction source may make several. */
class Run<Transaction> {
  readonly tasks: readonly HeldTask[]
  readonly handling: Handling<Transaction>
  decisions: Decisions = new Map()
  completion: Completion | undefined
  /** Tasks that are handed back, as a handler that was asked to let go left them undecided. */
  left: readonly HeldTask[] = []
  handled: Promise<void> = Promise.resolve()
  readonly #environment: BatchEnvironment<Transaction>
  readonly #transaction: Transaction
  readonly #lift: Lift
  readonly #asking: { readonly onStuck: () => void; readonly holdsSlots: () => boolean }
  readonly #committed = Promise.withResolvers<Completion>()
  #asked: Promise<Decisions> | undefined
  /** The error that the handler threw. `inTransaction`: the function that it passed to `complete` threw it. */
  #thrown: { readonly error: unknown; readonly inTransaction?: true } | undefined
  #state: 'open' | 'committed' | 'rolled back' = 'open'

  constructor(
    environment: BatchEnvironment<Transaction>,
    transaction: Transaction,
    tasks: readonly HeldTask[],
    lift: Lift,
    asking: { readonly onStuck: () => void; readonly holdsSlots: () => boolean },
  ) {
    this.#environment = environment
    this.#transaction = transaction
    this.#lift = lift
    this.#asking = asking
    this.tasks = tasks
    this.handling = new Handling(environment, tasks)
    this.#committed.promise.catch(() => {})
  }

  /** Handles the batch, and completes it in the transaction as soon as the handler has decided. */
  async complete(): Promise<void> {
    const { discard, topic, repository, listener } = this.#environment
    const asked = Promise.withResolvers<Decisions>()
    const handled = this.handling.run((decide) => this.#ask(decide, asked.resolve), this.#asking.onStuck)
    this.handled = handled.then(
      () => {},
      (error: unknown) => {
        // The batch is committed already, so a later error of the handler is only reported.
        if (this.#state === 'committed') listener.onError({ ...this.handling.event, activity: 'handle', error })
      },
    )
    // A handler that has not awaited its own completion may have returned before that: its work counts.
    const returned = handled.then((decisions) => this.#asked ?? decisions ?? this.#undecided())
    const given = await this.#lift(() => this.#given(Promise.race([asked.promise, returned])))
    if (this.#state !== 'open') throw this.#rolledBack()
    if (!this.#asking.holdsSlots()) throw this.#slotsLost()
    this.left = this.handling.aborted ? this.tasks.filter((task) => !given.has(task)) : []
    this.decisions = this.left.length > 0 ? given : complement(this.tasks, given)
    listener.onCallback(this.handling.event)
    this.completion = await repository.complete(this.#transaction, topic, this.decisions, {
      strict: true,
      ...(discard && { discard }),
    })
    if (this.left.length > 0) await repository.handBack(this.#transaction, topic, this.left)
  }

  /** Tells whether the database caused an error. An error of the handler's own statements counts as the database's if it is passing. */
  isDatabases(error: unknown): boolean {
    if (isTaskError(error, 'TRANSACTION_ABANDONED')) return false
    if (!this.#thrown || this.#thrown.error !== error) return true
    return this.#thrown.inTransaction === true && this.#environment.dispatcher.isPassing(error, true, true)
  }

  async #given(decisions: Promise<Decisions>): Promise<Decisions> {
    try {
      const given = await decisions
      checkDecisions(this.tasks, given)
      return given
    } catch (error) {
      this.#thrown ??= { error }
      throw error
    }
  }

  /** Gives the decisions of a handler that returned nothing. @throws TaskError DECISIONS_MISSING unless the handler was asked to let go */
  #undecided(): Decisions {
    if (!this.handling.aborted) throw decisionsMissing(this.#environment.topic)
    return new Map()
  }

  commit(): void {
    this.#state = 'committed'
    this.#committed.resolve(this.completion!)
  }

  /** Refuses further work, as the transaction ends now. A transaction that was committed stays so. */
  abandon(): void {
    if (this.#state === 'open') this.#state = 'rolled back'
  }

  rollBack(error: unknown): void {
    this.#state = 'rolled back'
    this.#committed.reject(error)
  }

  #rolledBack(): TaskError {
    const { topic } = this.#environment
    const message = `The transaction of topic "${topic}" was rolled back: its tasks are not held any more`
    return new TaskError('TASK_LOST', message, { lost: this.tasks })
  }

  #slotsLost(): TaskError {
    const { topic } = this.#environment
    const message = `The lease was lost in a transaction of topic "${topic}", so others may have its places under the total of the topic: it is rolled back`
    return new TaskError('TASK_LOST', message, { lost: this.tasks })
  }

  #ask(
    decide: Parameters<HandlerContext<Transaction>['complete']>[0],
    onAsked: (decisions: Promise<Decisions>) => void,
  ): Promise<Completion> {
    const { topic } = this.#environment
    if (this.#asked || this.#state === 'committed') return Promise.reject(completedAlready(topic))
    if (this.#state === 'rolled back') return Promise.reject(this.#rolledBack())
    const decided = async (): Promise<Decisions> => {
      if (typeof decide !== 'function') return decide
      try {
        return await decide(this.#transaction, this.tasks)
      } catch (error) {
        this.#thrown = { error, inTransaction: true }
        throw error
      }
    }
    onAsked((this.#asked = decided()))
    return this.#committed.promise
  }
}
