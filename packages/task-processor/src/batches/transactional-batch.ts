import { isTaskError, TaskError } from '@taskstream/task-api'
import type { Completion, HeldTask, PollOptions } from '@taskstream/task-api'
import type { Batch, BatchEnvironment } from './batch.ts'
import type { Lift } from '../core/dispatcher.ts'
import { checkDecisions, complement, decisionsMissing } from './decisions.ts'
import { completedAlready, Handling, tellCompleted } from './handling.ts'
import type { Decisions, HandlerContext } from '../core/task-handler.ts'

/**
 * A batch that is polled, handled and completed in one transaction. Whatever goes wrong, it is rolled back, and was never polled: a
 * process that dies leaves nothing to be recovered, and nothing that counts as a try.
 */
export class TransactionalBatch<Transaction> implements Batch {
  readonly isLeased = false
  readonly #environment: BatchEnvironment<Transaction>
  readonly #polled = Promise.withResolvers<readonly HeldTask[]>()
  /** The end of a transaction that the handler does not let go of. */
  readonly #abandoned = Promise.withResolvers<never>()
  #run: Run<Transaction> | undefined
  /** What it polls from now on is not to be handled. */
  #over = false
  #completion: Completion | undefined
  #returned: readonly HeldTask[] = []
  /** It was rolled back. */
  #failed = false
  /** And not for the handler. */
  #setback = false
  #ended: Promise<void> = Promise.resolve()

  constructor(environment: BatchEnvironment<Transaction>) {
    this.#environment = environment
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

  /** Nothing is held but by the transaction. */
  get undecided(): readonly HeldTask[] {
    return []
  }

  get leased(): readonly HeldTask[] {
    return []
  }

  get setback(): boolean {
    return this.#setback
  }

  get ended(): Promise<void> {
    return this.#ended
  }

  get handled(): Promise<void> {
    return this.#run?.handled ?? this.#ended
  }

  get event(): Batch['event'] {
    return this.#run?.handling.event ?? { topic: this.#environment.topic, tasks: [] }
  }

  /** Whether the transaction was rolled back: its tasks should be taken up again with more care. */
  get failed(): boolean {
    return this.#failed
  }

  /** Begins the transaction. @returns what was polled; rejects if nothing could be */
  begin(options: PollOptions): Promise<readonly HeldTask[]> {
    this.#ended = this.#transact(options)
    return this.#polled.promise
  }

  abort(reason: TaskError): void {
    this.#over = true
    this.#run?.handling.abort(reason)
  }

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
          // The source may begin again: what was polled before was rolled back, and its handler has nobody to complete for.
          last?.rollBack(new TaskError('TRANSACTION_CONFLICT', 'The transaction was rolled back, and is begun again', { topic }))
          const tasks = await repository.poll(transaction, topic, { ...options, hold: 'transaction' })
          // Given up meanwhile, it is handled elsewhere.
          await lift(() => {})
          if (this.#over && tasks.length > 0) {
            this.#polled.resolve([])
            throw new TaskError('SHUTDOWN', `Topic "${topic}" has stopped: what a poll under way brings is rolled back`)
          }
          this.#run = last =
            tasks.length > 0 ? new Run(this.#environment, transaction, tasks, lift, () => this.giveUp()) : undefined
          this.#polled.resolve(tasks)
          // A poll that found nothing has still written: what it took off a list, say.
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
    tellCompleted(this.#environment, last.handling.event, last.completion, last.decisions)
    if (last.left.length > 0) listener.onReturned({ ...last.handling.event, tasks: last.left })
    last.commit()
    await last.handled
  }

  #rolledBack(run: Run<Transaction>, error: unknown): void {
    const { listener } = this.#environment
    const { aborted, event } = run.handling
    this.#failed = true
    this.#setback = run.isDatabases(error)
    // Of a commit that went unanswered nobody knows.
    this.#returned = run.completion && isTaskError(error, 'DATABASE_UNAVAILABLE') ? [] : run.tasks
    run.rollBack(error)
    if (aborted && aborted.code !== 'TASK_TIMEOUT') listener.onReturned(event)
    else listener.onError({ ...event, activity: this.#setback ? 'complete' : 'handle', error })
  }
}

/** One go at it: the source of transactions may have several. */
class Run<Transaction> {
  readonly tasks: readonly HeldTask[]
  readonly handling: Handling<Transaction>
  decisions: Decisions = new Map()
  completion: Completion | undefined
  /** Handed back: a handler that was asked to let go left them undecided. */
  left: readonly HeldTask[] = []
  handled: Promise<void> = Promise.resolve()
  readonly #environment: BatchEnvironment<Transaction>
  readonly #transaction: Transaction
  readonly #lift: Lift
  readonly #onStuck: () => void
  readonly #committed = Promise.withResolvers<Completion>()
  #asked: Promise<Decisions> | undefined
  /** What the handler threw, in the function that it completes with or elsewhere. */
  #thrown: { readonly error: unknown; readonly inTransaction?: true } | undefined
  #state: 'open' | 'committed' | 'rolled back' = 'open'

  constructor(
    environment: BatchEnvironment<Transaction>,
    transaction: Transaction,
    tasks: readonly HeldTask[],
    lift: Lift,
    onStuck: () => void,
  ) {
    this.#environment = environment
    this.#transaction = transaction
    this.#lift = lift
    this.#onStuck = onStuck
    this.tasks = tasks
    this.handling = new Handling(environment, tasks)
    this.#committed.promise.catch(() => {})
  }

  /** Handles the batch, and completes it in the transaction as soon as it is decided. */
  async complete(): Promise<void> {
    const { topic, repository, listener } = this.#environment
    const asked = Promise.withResolvers<Decisions>()
    const handled = this.handling.run((decide) => this.#ask(decide, asked.resolve), this.#onStuck)
    this.handled = handled.then(
      () => {},
      (error: unknown) => {
        // Committed already: what comes later is the handler's own affair.
        if (this.#state === 'committed') listener.onError({ ...this.handling.event, activity: 'handle', error })
      },
    )
    const given = await this.#lift(() =>
      this.#given(Promise.race([asked.promise, handled.then((decisions) => decisions ?? this.#asked ?? this.#undecided())])),
    )
    if (this.#state !== 'open') throw this.#rolledBack()
    this.left = this.handling.aborted ? this.tasks.filter((task) => !given.has(task)) : []
    this.decisions = this.left.length > 0 ? given : complement(this.tasks, given)
    listener.onCallback(this.handling.event)
    this.completion = await repository.complete(this.#transaction, topic, this.decisions, { strict: true })
    if (this.left.length > 0) await repository.handBack(this.#transaction, topic, this.left)
  }

  /** Whether the handler is to blame, or the database: what a handler writes with is its own only as long as the database does not say so. */
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

  /** Of a handler that has returned nothing. @throws TaskError DECISIONS_MISSING, unless it was asked to let go */
  #undecided(): Decisions {
    if (!this.handling.aborted) throw decisionsMissing(this.#environment.topic)
    return new Map()
  }

  commit(): void {
    this.#state = 'committed'
    this.#committed.resolve(this.completion!)
  }

  /** Nothing more is done in its transaction, which ends now; unless that is being committed. */
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
