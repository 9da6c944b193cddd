import { isTaskError, TaskError } from '@taskstream/task-api'
import type { Completion, HeldTask } from '@taskstream/task-api'
import type { Batch, BatchEnvironment } from './batch.ts'
import { Completing } from './completing.ts'
import { checkDecisions, complement, decisionsMissing, failed } from './decisions.ts'
import { completedAlready, Handling } from './handling.ts'
import { OwnCompletion } from './own-completion.ts'
import { Patience } from '../core/patience.ts'
import type { Decisions, HandlerContext } from '../core/task-handler.ts'

/** A batch that is held by the owner's lease: polled, handled and completed in transactions of their own. */
export class LeasedBatch<Transaction> implements Batch {
  readonly isLeased = true
  readonly tasks: readonly HeldTask[]
  readonly #environment: BatchEnvironment<Transaction>
  readonly #handling: Handling<Transaction>
  readonly #completing: Completing<Transaction>
  readonly #plain: boolean
  /** For the database. */
  readonly #patience: Patience
  /** The same, for what its handler has asked for. */
  #handlersPatience: Patience | undefined
  /** The handler's own completion, once it has asked for one. */
  #asked: Promise<Completion> | undefined
  #own: OwnCompletion<Transaction> | undefined
  /** What has been told already, and may come back through the handler. */
  #told: unknown
  #decided = false
  /** Decided or handed back without the handler: what it may still decide is refused. */
  #taken = false
  readonly #stuck = Promise.withResolvers<void>()
  #taking: Promise<void> = Promise.resolve()
  #handled: Promise<void> = Promise.resolve()
  #ended: Promise<void> = Promise.resolve()

  /** `plain`: the topic has no order but fifo, and no condition. */
  constructor(environment: BatchEnvironment<Transaction>, tasks: readonly HeldTask[], plain: boolean) {
    this.#environment = environment
    this.tasks = tasks
    this.#plain = plain
    this.#handling = new Handling(environment, tasks)
    this.#patience = new Patience(environment.clock)
    this.#completing = new Completing(environment, this, plain)
  }

  get finished(): readonly HeldTask[] {
    return this.#completing.finished
  }

  get returned(): readonly HeldTask[] {
    return this.#completing.returned
  }

  get undecided(): readonly HeldTask[] {
    return this.#completing.undecided
  }

  get leased(): readonly HeldTask[] {
    return this.#completing.openOf(this.tasks)
  }

  get setback(): boolean {
    return this.#completing.setback
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
    this.#patience.end()
    this.#handlersPatience?.end()
  }

  /** Begins to handle the batch. */
  begin(): Promise<void> {
    this.#handled = this.#run()
    // A handler that ends as its tasks are taken from it does not end the batch: they are still to be written.
    this.#ended = Promise.race([this.#handled.then(() => this.#taking), this.#stuck.promise])
    return this.#ended
  }

  /** Hands the batch back instead: nobody is there any more to handle it. */
  decline(): Promise<void> {
    this.#ended = this.handBack()
    return this.#ended
  }

  /** Makes what is still held ready again; never rejects. */
  async handBack(): Promise<void> {
    if (this.#decided) return
    await this.#completing.handBack(this.tasks, this.#patience)
    if (this.returned.length > 0) this.#take()
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    try {
      const decisions = await this.#handling.run(this.#complete, (reason) => void (this.#taking = this.#takeFrom(reason)))
      if (await this.#isCompleted(decisions)) return
      if (this.#taken) this.#environment.listener.onLost(this.event)
      else if (decisions) await this.#decide(decisions)
      // Asked to let go, it may leave out every task.
      else if (this.#handling.aborted) await this.#decide(new Map())
      else throw decisionsMissing(this.#environment.topic)
    } catch (error) {
      await this.#fail(error)
    }
  }

  readonly #complete: HandlerContext<Transaction>['complete'] = (decide) => {
    const { topic, listener, clock } = this.#environment
    if (this.#asked) return Promise.reject(completedAlready(topic))
    if (this.#taken) {
      listener.onLost(this.event)
      const message = `The batch of topic "${topic}" was taken from its handler: it took too long, or the node stopped`
      return Promise.reject(new TaskError('TASK_LOST', message, { lost: this.tasks }))
    }
    const patience = (this.#handlersPatience = new Patience(clock))
    if (this.#patience.isOver) patience.end()
    this.#asked =
      typeof decide === 'function'
        ? this.#completeWith(new OwnCompletion(this.#environment, decide), patience)
        : this.#completeAs(decide, patience)
    // Who asked hears of a failure; if it does not listen, the batch does.
    this.#asked.catch(() => {})
    return this.#asked
  }

  /** With what the handler writes in the same transaction. */
  async #completeWith(own: OwnCompletion<Transaction>, patience: Patience): Promise<Completion> {
    this.#own = own
    this.#environment.listener.onCallback(this.event)
    const completion = await own.run(this.tasks, this.#completing, patience)
    this.#decided = true
    return completion
  }

  async #completeAs(given: Decisions, patience: Patience): Promise<Completion> {
    this.#environment.listener.onCallback(this.event)
    const decisions = complement(this.tasks, given)
    try {
      return await this.#completing.complete(decisions, patience)
    } catch (error) {
      this.#told = error
      throw error
    } finally {
      // Each task by itself, whatever became of it; unless it was taken from the handler, and is decided by somebody else.
      this.#decided ||= !this.#taken
    }
  }

  /** Waits for what the handler did not wait for. A completion that failed may be followed by decisions. */
  async #isCompleted(decisions: Decisions | void): Promise<boolean> {
    if (!this.#asked) return false
    try {
      await this.#asked
      return true
    } catch (error) {
      if (decisions === undefined) throw error
      return this.#decided
    }
  }

  /** Completes what was decided. Of a handler that was asked to let go, what it left undecided is handed back. */
  async #decide(given: Decisions): Promise<void> {
    const { listener, completions } = this.#environment
    const { aborted } = this.#handling
    checkDecisions(this.tasks, given)
    const left = aborted ? this.tasks.filter((task) => !given.has(task)) : []
    const decisions = left.length > 0 ? given : complement(this.tasks, given)
    listener.onCallback(this.event)
    const alone = async (onWait?: () => void): Promise<void> => {
      // What it throws is told.
      await this.#completing.complete(decisions, this.#patience, onWait).catch(() => {})
    }
    const shared = left.length > 0 ? await alone() : await completions.complete(decisions, this.#plain, alone)
    if (shared) this.#completing.completed(shared, decisions)
    await this.#completing.handBack(left, this.#patience)
    this.#decided = true
  }

  /** Whatever went wrong, every task of the batch is completed as failed; once, and in a transaction of its own. */
  async #fail(error: unknown): Promise<void> {
    const { listener } = this.#environment
    const failure = this.#own?.failureBy(error)
    const activity = failure === undefined || failure === 'handler' ? 'handle' : 'complete'
    if (this.#decided || this.#taken) {
      // Decided already: what comes later is the handler's own affair.
      if (error !== this.#told && failure !== 'given up') listener.onError({ ...this.event, activity, error })
      return
    }
    const { aborted } = this.#handling
    const timedOut = aborted?.code === 'TASK_TIMEOUT'
    if (failure === 'given up' || isTaskError(error, 'SHUTDOWN') || (aborted && !timedOut)) {
      // Not the tasks' fault.
      await this.handBack()
      return
    }
    listener.onError({ ...this.event, activity, error })
    this.#handlersPatience?.end()
    await this.#failAll(timedOut ? aborted : error)
  }

  /** The handler holds on to what is not its any more: its tasks are decided without it. */
  async #takeFrom(reason: TaskError): Promise<void> {
    // What was handed back is somebody else's by now.
    const isBack = this.#taken
    this.#take()
    if (!this.#decided && !isBack) await this.#failAll(reason)
    this.#stuck.resolve()
  }

  #take(): void {
    this.#taken = true
    this.#handlersPatience?.end()
  }

  async #failAll(reason: unknown): Promise<void> {
    const { retry } = this.#environment
    const decisions = new Map(this.tasks.map((task) => [task, failed(task, reason, retry)]))
    // The handler's own completion may have come first; then nothing is left. What goes wrong is told.
    await this.#completing.complete(decisions, this.#patience).catch(() => {})
    this.#decided = true
  }
}
