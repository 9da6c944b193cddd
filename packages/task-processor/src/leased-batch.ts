import { isTaskError, TaskError } from '@taskstream/task-api'
import type { Completion, HeldTask } from '@taskstream/task-api'
import type { Batch, BatchEnvironment } from './batch.ts'
import { checkDecisions, complement, failed } from './decisions.ts'
import { completedAlready, Handling, tellCompleted } from './handling.ts'
import { Condition } from './listener.ts'
import type { Decisions, HandlerContext } from './task-handler.ts'
import { Wake } from './wake.ts'

/** A batch that is held by the owner's lease: polled, handled and completed in transactions of their own. */
export class LeasedBatch<Transaction> implements Batch {
  readonly tasks: readonly HeldTask[]
  readonly #environment: BatchEnvironment<Transaction>
  readonly #handling: Handling<Transaction>
  readonly #plain: boolean
  /** Ends the attempts to reach the database. */
  #givenUp = false
  readonly #wake: Wake
  readonly #condition: Condition
  /** The handler's own completion, once it has asked for one. */
  #asked: Promise<Completion> | undefined
  #completion: Completion | undefined
  #returned: readonly HeldTask[] = []
  /** Decided or handed back without the handler: what it may still decide is refused. */
  #taken = false
  readonly #stuck = Promise.withResolvers<void>()
  #handled: Promise<void> = Promise.resolve()
  #ended: Promise<void> = Promise.resolve()

  /** `plain`: the topic has no order but fifo, and no condition. */
  constructor(environment: BatchEnvironment<Transaction>, tasks: readonly HeldTask[], plain: boolean) {
    this.#environment = environment
    this.tasks = tasks
    this.#plain = plain
    this.#handling = new Handling(environment, tasks)
    this.#wake = new Wake(environment.clock)
    this.#condition = new Condition(environment.listener, 'complete', environment.topic)
  }

  get finished(): readonly HeldTask[] {
    return this.#completion?.completed ?? []
  }

  get returned(): readonly HeldTask[] {
    return this.#returned
  }

  get ended(): Promise<void> {
    return this.#ended
  }

  get handled(): Promise<void> {
    return this.#handled
  }

  get event(): Batch['event'] {
    return this.#handling.event
  }

  abort(reason: TaskError): void {
    this.#handling.abort(reason)
  }

  giveUp(): void {
    this.#givenUp = true
    this.#wake.wake()
  }

  /** Begins to handle the batch. */
  begin(): Promise<void> {
    this.#handled = this.#run()
    this.#ended = Promise.race([this.#handled, this.#stuck.promise])
    return this.#ended
  }

  /** Hands the batch back instead: nobody is there any more to handle it. */
  decline(): Promise<void> {
    this.#ended = this.handBack().catch((error: unknown) => this.#failedToComplete(error))
    return this.#ended
  }

  /** Makes what is still held ready again. */
  async handBack(): Promise<void> {
    if (this.#completion) return
    const { topic, repository } = this.#environment
    const { completed, lost } = await this.#persist<Completion>((transaction) =>
      repository.handBack(transaction, topic, this.tasks),
    )
    this.#taken = completed.length > 0
    // What was completed while the database was asked is not lost.
    this.#tellReturned({ completed, lost: this.#completion ? [] : lost })
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    try {
      const decisions = await this.#handling.run(this.#complete, (reason) => void this.#takeFrom(reason))
      if (await this.#isCompleted(decisions)) return
      if (this.#taken) this.#environment.listener.onLost(this.event)
      else await this.#decide(decisions ?? new Map())
    } catch (error) {
      await this.#fail(error)
    }
  }

  readonly #complete: HandlerContext<Transaction>['complete'] = (decide) => {
    const { topic, repository, listener } = this.#environment
    if (this.#asked) return Promise.reject(completedAlready(topic))
    if (this.#taken) {
      listener.onLost(this.event)
      const message = `The batch of topic "${topic}" was taken from its handler: it took too long, or the node stopped`
      return Promise.reject(new TaskError('TASK_LOST', message, { lost: this.tasks }))
    }
    const complete = async (): Promise<Completion> => {
      listener.onCallback(this.event)
      let decisions: Decisions = new Map()
      // Run again when the database went away: of a commit whose outcome is unknown the fence tells, and nothing takes effect twice.
      const completion = await this.#persist<Completion>(
        async (transaction) => {
          if (typeof decide !== 'function') {
            decisions = complement(this.tasks, decide)
            return repository.complete(transaction, topic, decisions)
          }
          const { held, lost } = await repository.hold(transaction, topic, this.tasks)
          decisions = complement(held, await decide(transaction, held))
          const { completed } = await repository.complete(transaction, topic, decisions, { strict: true })
          return { completed, lost }
        },
        typeof decide !== 'function',
      )
      this.#completed(completion, decisions)
      return completion
    }
    this.#asked = complete()
    // Who asked hears of a failure; if it does not listen, the batch does.
    this.#asked.catch(() => {})
    return this.#asked
  }

  /** Waits for what the handler did not wait for. A completion that failed may be followed by decisions. */
  async #isCompleted(decisions: Decisions | void): Promise<boolean> {
    if (!this.#asked) return false
    try {
      await this.#asked
      return true
    } catch (error) {
      if (decisions === undefined) throw error
      return false
    }
  }

  /** Completes what was decided. Of a handler that was asked to let go, what it left undecided is handed back. */
  async #decide(given: Decisions): Promise<void> {
    const { topic, repository, listener } = this.#environment
    checkDecisions(this.tasks, given)
    const left = this.#handling.aborted ? this.tasks.filter((task) => !given.has(task)) : []
    const decisions = left.length > 0 ? given : complement(this.tasks, given)
    listener.onCallback(this.event)
    if (left.length === 0) {
      const alone = (): Promise<Completion> =>
        this.#persist<Completion>((transaction) => repository.complete(transaction, topic, decisions), true)
      this.#completed(await this.#environment.completions.complete(decisions, this.#plain, alone), decisions)
      return
    }
    const [completion, returned] = await this.#persist(async (transaction) => [
      await repository.complete(transaction, topic, decisions),
      await repository.handBack(transaction, topic, left),
    ])
    this.#completed(completion, decisions)
    this.#tellReturned(returned)
  }

  /** Requirement 04 §53-54: whatever went wrong, every task of the batch is completed as failed; once, and in a transaction of its own. */
  async #fail(error: unknown): Promise<void> {
    const { listener } = this.#environment
    if (this.#completion || this.#taken) {
      // Decided already: what comes later is the handler's own affair.
      listener.onError({ ...this.event, activity: 'handle', error })
      return
    }
    const { aborted } = this.#handling
    const timedOut = aborted?.code === 'TASK_TIMEOUT'
    try {
      if (isTaskError(error, 'SHUTDOWN') || (aborted && !timedOut)) {
        // Not the tasks' fault.
        await this.handBack()
      } else {
        listener.onError({ ...this.event, activity: 'handle', error })
        await this.#failAll(timedOut ? aborted : error)
      }
    } catch (failure) {
      this.#failedToComplete(failure)
    }
  }

  /** The handler holds on to what is not its any more: its tasks are decided without it. */
  async #takeFrom(reason: TaskError): Promise<void> {
    this.#taken = true
    try {
      if (!this.#completion) await this.#failAll(reason)
    } catch (failure) {
      this.#failedToComplete(failure)
    }
    this.#stuck.resolve()
  }

  async #failAll(error: unknown): Promise<void> {
    const { topic, retry, repository } = this.#environment
    const decisions = new Map(this.tasks.map((task) => [task, failed(task, error, retry)]))
    const completion = await this.#persist((transaction) => repository.complete(transaction, topic, decisions), true)
    // The handler's own completion may have come first; then nothing was left.
    if (!this.#completion) this.#completed(completion, decisions)
  }

  /** `whole`: completes all that it does in one go, which is a single statement in a topic without a condition. */
  async #persist<Result>(work: (transaction: Transaction) => Result | Promise<Result>, whole = false): Promise<Result> {
    const result = await this.#environment.dispatcher.persist(work, {
      single: whole && this.#plain,
      givenUp: () => this.#givenUp,
      wake: this.#wake,
      onRetry: (error) => this.#condition.failed(error),
    })
    this.#condition.worked()
    return result
  }

  #completed(completion: Completion, decisions: Decisions): void {
    this.#completion = completion
    tellCompleted(this.#environment, this.event, completion, decisions)
  }

  #tellReturned({ completed, lost }: Completion): void {
    const { listener } = this.#environment
    this.#returned = completed
    if (completed.length > 0) listener.onReturned({ ...this.event, tasks: completed })
    if (lost.length > 0) listener.onLost({ ...this.event, tasks: lost })
  }

  #failedToComplete(error: unknown): void {
    this.#environment.listener.onError({ ...this.event, activity: 'complete', error })
  }
}
