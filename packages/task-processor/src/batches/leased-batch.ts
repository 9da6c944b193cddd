import { isTaskError, TaskError } from '@taskstream/task-api'
import type { Completion, HeldTask, StuckTask } from '@taskstream/task-api'
import type { Batch, BatchEnvironment } from './batch.ts'
import { Completing } from './completing.ts'
import { checkDecisions, complement, decisionsMissing, failed } from './decisions.ts'
import { completedAlready, Handling } from './handling.ts'
import { OwnCompletion } from './own-completion.ts'
import { Patience } from '../core/patience.ts'
import type { Decisions, HandlerContext } from '../core/task-handler.ts'

const over: Promise<void> = Promise.resolve()

/** A batch whose tasks the owner's lease holds. Its poll and its completion are separate transactions, and its handler runs between them. */
export class LeasedBatch<Transaction> implements Batch {
  readonly isLeased = true
  readonly tasks: readonly HeldTask[]
  readonly #environment: BatchEnvironment<Transaction>
  readonly #handling: Handling<Transaction>
  readonly #completing: Completing<Transaction>
  readonly #plain: boolean
  /** The patience of completions that the batch makes by itself, as few need to: see `#patience`. */
  #itsPatience: Patience | undefined
  /** The patience of the completion that the handler has asked for. */
  #handlersPatience: Patience | undefined
  /** The completion that the handler has asked for. Undefined before. */
  #asked: Promise<Completion> | undefined
  #own: OwnCompletion<Transaction> | undefined
  /** An error that was reported already. The handler may throw it again. */
  #told: unknown
  #decided = false
  /** Whether the tasks were decided or handed back without the handler, whose later decisions are refused. */
  #taken = false
  /** Resolves when the tasks were taken from a handler that did not let go in time. Undefined without a time. */
  #stuck: PromiseWithResolvers<void> | undefined
  #taking = over
  #handled = over
  #onHandled: (() => void) | undefined
  #ended = over
  /** Resolves with the end of a batch that waits for its turn. Undefined for other batches. */
  #turn: PromiseWithResolvers<void> | undefined

  /** @param plain whether a completion is a single statement, as for a plain topic */
  constructor(environment: BatchEnvironment<Transaction>, tasks: readonly HeldTask[], plain: boolean) {
    this.#environment = environment
    this.tasks = tasks
    this.#plain = plain
    this.#handling = new Handling(environment, tasks)
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

  get stuck(): readonly StuckTask[] {
    const asked = this.#handling.askedMs
    // mutants: equivalent condition:false, of no tasks none are open
    if (asked.size === 0) return []
    const nowMs = this.#environment.clock.monotonicMs()
    return this.#completing
      .openOf([...asked.keys()])
      .map((task) => ({ sequence: task.sequence, attempt: task.attempt, forMs: Math.round(nowMs - asked.get(task)!) }))
  }

  get isWaiting(): boolean {
    return this.#turn !== undefined
  }

  get setback(): boolean {
    return this.#completing.setback
  }

  get #patience(): Patience {
    return (this.#itsPatience ??= new Patience(this.#environment.clock))
  }

  get ended(): Promise<void> {
    return this.#ended
  }

  /** Resolves when the handler's code has ended too, which may be later; never rejects. */
  get handled(): Promise<void> {
    return this.#handled
  }

  get event(): Batch['event'] {
    return this.#handling.event
  }

  abort(reason: TaskError): void {
    if (this.isWaiting) void this.decline()
    else this.#handling.abort(reason)
  }

  lose(reason: TaskError): void {
    if (!this.#asked) this.abort(reason)
  }

  giveUp(): void {
    this.#patience.end()
    this.#handlersPatience?.end()
  }

  /** Waits until it is begun or declined. @returns a promise that resolves when the batch has ended */
  wait(): Promise<void> {
    this.#turn = Promise.withResolvers()
    this.#ended = this.#turn.promise
    return this.#ended
  }

  /** Begins to handle the batch. @param onHandled called when its handler has returned or thrown, before anything is written */
  begin(onHandled?: () => void): Promise<void> {
    this.#onHandled = onHandled
    if (this.#environment.timeoutMs === undefined) return this.#endWith((this.#handled = this.#run()))
    const { promise } = (this.#stuck = Promise.withResolvers())
    this.#handled = this.#run()
    // A handler may end while its tasks are being taken from it: the batch ends once they are written.
    return this.#endWith(Promise.race([this.#handled.then(() => this.#taking), promise]))
  }

  /** Hands the batch back unhandled, as the topic is stopping, the lease is lost, or its turn does not come. */
  decline(): Promise<void> {
    return this.#endWith(this.#handBack())
  }

  /** A batch that has waited has told others of its end already. */
  #endWith(ended: Promise<void>): Promise<void> {
    if (this.#turn) this.#turn.resolve(ended)
    else this.#ended = ended
    this.#turn = undefined
    return this.#ended
  }

  /** Hands back the tasks that are still held; never rejects. */
  async handBack(): Promise<void> {
    await (this.isWaiting ? this.decline() : this.#handBack())
  }

  async #handBack(): Promise<void> {
    if (this.#decided) return
    await this.#completing.handBack(this.tasks, this.#patience)
    if (this.returned.length > 0) this.#take()
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    try {
      let decisions
      try {
        decisions = await this.#handling.begin(this.#complete, this.#onStuck)
      } finally {
        this.#handling.end()
        this.#onHandled?.()
      }
      if (this.#asked && (await this.#isCompleted(decisions))) return
      if (this.#taken) this.#environment.listener.onLost(this.event)
      else if (decisions) await this.#decide(decisions)
      // An aborted handler may return nothing, and then all its tasks are handed back.
      else if (this.#handling.aborted) await this.#decide(new Map())
      else throw decisionsMissing(this.#environment.topic)
    } catch (error) {
      await this.#fail(error)
    }
  }

  readonly #onStuck = (reason: TaskError): void => {
    this.#environment.hung.add(this.#handled)
    this.#taking = this.#takeFrom(reason)
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
    // The handler gets the rejection. If it does not await it, `#isCompleted` does.
    this.#asked.catch(() => {})
    return this.#asked
  }

  /** Completes in one transaction with the handler's own writes. */
  async #completeWith(own: OwnCompletion<Transaction>, patience: Patience): Promise<Completion> {
    this.#own = own
    const { listener, commits } = this.#environment
    listener.onCallback(this.event)
    let completion: Completion | undefined
    const commit = { tasks: this.tasks, decide: own.decide }
    const shared = await commits.complete(commit, async () => {
      completion = await own.run(this.tasks, this.#completing, patience)
    })
    this.#decided = true
    if (!shared) return completion!
    // The handler may have asked before, in vain.
    this.#completing.condition.worked()
    return this.#completing.completed(shared.completion, shared.decisions)
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
      // Every task was written or left by now, even after an error. Tasks that were taken from the handler are decided elsewhere.
      if (!this.#taken) this.#decided = true
    }
  }

  /** Waits for a completion that the handler did not await. If the completion failed, the handler may still return decisions. */
  async #isCompleted(decisions: Decisions | void): Promise<boolean> {
    try {
      await this.#asked
      return true
    } catch (error) {
      if (decisions === undefined) throw error
      return this.#decided
    }
  }

  /** Completes the decided tasks. If the handler was asked to let go, the tasks without a decision are handed back. */
  async #decide(given: Decisions): Promise<void> {
    const { listener, completions } = this.#environment
    const { aborted } = this.#handling
    checkDecisions(this.tasks, given)
    const left = aborted ? this.tasks.filter((task) => !given.has(task)) : []
    const decisions = left.length > 0 ? given : complement(this.tasks, given)
    listener.onCallback(this.event)
    const alone = async (onWait?: () => void): Promise<void> => {
      // `complete` has reported the error that it throws.
      await this.#completing.complete(decisions, this.#patience, onWait).catch(() => {})
    }
    const shared = left.length > 0 ? await alone() : await completions.complete(decisions, this.#plain, alone)
    if (shared) this.#completing.completed(shared, decisions)
    if (left.length > 0) await this.#completing.handBack(left, this.#patience)
    this.#decided = true
  }

  /** Completes every task as failed, or as the retry policy says, in a separate transaction. */
  async #fail(error: unknown): Promise<void> {
    const { listener } = this.#environment
    const failure = this.#own?.failureBy(error)
    const activity = failure === undefined || failure === 'handler' ? 'handle' : 'complete'
    if (this.#decided || this.#taken) {
      // The tasks are decided already, so a later error of the handler is only reported.
      if (error !== this.#told && failure !== 'given up') listener.onError({ ...this.event, activity, error })
      return
    }
    const { aborted } = this.#handling
    const timedOut = aborted?.code === 'TASK_TIMEOUT'
    if (failure === 'given up' || isTaskError(error, 'SHUTDOWN') || (aborted && !timedOut)) {
      // The error is not the tasks' fault, so they keep their tries.
      await this.handBack()
      return
    }
    const decisions = this.#failed(timedOut ? aborted : error)
    listener.onError({ ...this.event, activity, error, decisions })
    this.#handlersPatience?.end()
    await this.#completeFailed(decisions)
  }

  /** Decides the tasks of a handler that did not let go in time. */
  async #takeFrom(reason: TaskError): Promise<void> {
    // Tasks that were handed back may be held by another owner by now, so they are not decided here.
    const isBack = this.#taken
    this.#take()
    if (!this.#decided && !isBack) await this.#completeFailed(this.#failed(reason))
    this.#stuck?.resolve()
  }

  #take(): void {
    this.#taken = true
    this.#handlersPatience?.end()
  }

  #failed(reason: unknown): Decisions {
    const { retry } = this.#environment
    // What failed as a batch comes back as one. A chance for each task would make many small batches of it.
    const draw = Math.random()
    return new Map(this.tasks.map((task) => [task, failed(task, reason, retry, draw)]))
  }

  async #completeFailed(decisions: Decisions): Promise<void> {
    // If the handler's own completion came first, no task is left. `complete` has reported the error that it throws.
    await this.#completing.complete(decisions, this.#patience).catch(() => {})
    this.#decided = true
  }
}
