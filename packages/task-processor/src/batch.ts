import { TaskDecision, TaskError, taskToString, toDecision } from '@taskstream/task-api'
import type { Completion, Execution, HeldTask, TaskRepository } from '@taskstream/task-api'
import type { Dispatcher } from './dispatcher.ts'
import { Condition } from './listener.ts'
import type { SafeListener } from './listener.ts'
import type { RetryPolicy } from './retry-policy.ts'
import type { BatchHandler, Decisions, HandlerContext } from './task-handler.ts'
import { Wake } from './wake.ts'

/** What handling a batch needs of its manager. */
export interface BatchEnvironment<Transaction> {
  readonly topic: string
  readonly repository: TaskRepository<Transaction, Execution>
  readonly dispatcher: Dispatcher<Transaction>
  readonly handler: BatchHandler<Transaction>
  readonly retry: RetryPolicy | undefined
  /** Wakes the processor of another topic. */
  readonly wake: (topic: string) => void
  readonly listener: SafeListener
}

/** A batch from its poll to its completion: handled once, completed once, and in any case let go of. */
export class Batch<Transaction> {
  readonly tasks: readonly HeldTask[]
  readonly #environment: BatchEnvironment<Transaction>
  readonly #abort = new AbortController()
  /** Ends the attempts to reach the database. */
  readonly #giveUp = new AbortController()
  readonly #wake = new Wake()
  readonly #condition: Condition
  #completion: Completion | undefined
  #returned: readonly HeldTask[] = []
  #ended: Promise<void> = Promise.resolve()

  constructor(environment: BatchEnvironment<Transaction>, tasks: readonly HeldTask[]) {
    this.#environment = environment
    this.tasks = tasks
    this.#condition = new Condition(environment.listener, 'complete', environment.topic)
  }

  /** Completed by this batch. */
  get finished(): readonly HeldTask[] {
    return this.#completion?.completed ?? []
  }

  /** Handed back. */
  get returned(): readonly HeldTask[] {
    return this.#returned
  }

  /** Asks the handler to let go. */
  abort(reason: TaskError): void {
    this.#abort.abort(reason)
  }

  /** Resolves when the batch has been let go of. */
  get ended(): Promise<void> {
    return this.#ended
  }

  /** Begins to handle the batch. */
  begin(): Promise<void> {
    this.#ended = this.#run()
    return this.#ended
  }

  /** Hands the batch back instead: nobody is there any more to handle it. */
  decline(): Promise<void> {
    const { topic, listener } = this.#environment
    this.#ended = this.handBack().catch((error: unknown) => listener.onError({ activity: 'complete', topic, error }))
    return this.#ended
  }

  /** Never rejects. */
  async #run(): Promise<void> {
    const { topic, listener, handler } = this.#environment
    listener.onStart({ topic, tasks: this.tasks })
    try {
      const decisions = await handler(this.tasks, this.#context())
      if (!this.#completion) await this.#complete(decisions ?? new Map())
    } catch (error) {
      await this.#fail(error)
    }
  }

  /** Makes what is still held ready again. Whatever the handler may decide later is refused. */
  async handBack(): Promise<void> {
    if (this.#completion) return
    const { topic, repository, listener } = this.#environment
    const { completed } = await this.#persist<Completion>((transaction) => repository.handBack(transaction, topic, this.tasks))
    this.#returned = completed
    const lost = this.tasks.filter((task) => !completed.includes(task))
    if (lost.length > 0 && !this.#completion) listener.onLost({ topic, tasks: lost })
  }

  /** Ends the attempts to complete: the process is about to end. */
  giveUp(): void {
    this.#giveUp.abort()
    this.#wake.wake()
  }

  #context(): HandlerContext<Transaction> {
    const { topic, retry, repository, dispatcher, wake } = this.#environment
    let asked = false
    return {
      topic,
      signal: this.#abort.signal,
      failed: (task, error) => failed(task, error, retry),
      wake,
      complete: async (decide) => {
        if (asked) throw new TaskError('LIFECYCLE', `A batch of topic "${topic}" was completed already`, { topic })
        asked = true
        let decisions: Decisions = new Map()
        const completion = await dispatcher.once<Completion>(async (transaction) => {
          const { held, lost } = await repository.hold(transaction, topic, this.tasks)
          decisions = complement(held, await decide(transaction, held))
          const { completed } = await repository.complete(transaction, topic, decisions, { strict: true })
          return { completed, lost }
        })
        this.#completed(completion, decisions)
        return completion
      },
    }
  }

  async #complete(given: Decisions): Promise<void> {
    const { topic, repository } = this.#environment
    const decisions = complement(this.tasks, given)
    const completion = await this.#persist((transaction) => repository.complete(transaction, topic, decisions))
    this.#completed(completion, decisions)
  }

  /** Requirement 04 §53-54: whatever went wrong, every task of the batch is completed as failed; once, and in a transaction of its own. */
  async #fail(error: unknown): Promise<void> {
    const { topic, listener, retry, repository } = this.#environment
    if (this.#completion) {
      // Committed already: what comes later is the handler's own affair.
      listener.onError({ activity: 'handle', topic, error })
      return
    }
    try {
      if (this.#abort.signal.aborted) {
        // Not the task's fault.
        await this.handBack()
        return
      }
      listener.onError({ activity: 'handle', topic, error })
      const decisions = new Map(this.tasks.map((task) => [task, failed(task, error, retry)]))
      this.#completed(await this.#persist((transaction) => repository.complete(transaction, topic, decisions)), decisions)
    } catch (failure) {
      listener.onError({ activity: 'complete', topic, error: failure })
    }
  }

  async #persist<Result>(work: (transaction: Transaction) => Result | Promise<Result>): Promise<Result> {
    const result = await this.#environment.dispatcher.persist(work, {
      signal: this.#giveUp.signal,
      wake: this.#wake,
      onRetry: (error) => this.#condition.failed(error),
    })
    this.#condition.worked()
    return result
  }

  #completed(completion: Completion, decisions: Decisions): void {
    const { topic, listener } = this.#environment
    this.#completion = completion
    listener.onComplete({ topic, completion, decisions })
    if (completion.lost.length > 0) listener.onLost({ topic, tasks: completion.lost })
  }
}

/** Decisions for exactly these tasks: a missing one is a failure, and one for another task an error. */
function complement(tasks: readonly HeldTask[], decisions: Decisions): Decisions {
  if (!(decisions instanceof Map))
    throw new TaskError('ARGUMENT_INVALID', 'A handler must return a Map of its tasks to decisions', { decisions })
  let known = 0
  for (const task of tasks) if (decisions.has(task)) known++
  if (known < decisions.size) {
    const unknown = [...decisions.keys()].find((task) => !tasks.includes(task))
    throw new TaskError(
      'TASK_UNKNOWN',
      `There is a decision for ${unknown ? taskToString(unknown) : 'a task'}, which is not of the batch`,
      {
        task: unknown,
      },
    )
  }
  if (known === tasks.length) return decisions
  const missing = TaskDecision.failure('The handler returned no decision for this task')
  return new Map(tasks.map((task) => [task, decisions.get(task) ?? missing]))
}

function failed(task: HeldTask, error: unknown, retry: RetryPolicy | undefined): TaskDecision {
  const decision = toDecision(error)
  if (decision.result !== 'failure') return decision
  const afterMs = retry?.(task, error)
  return afterMs === undefined ? decision : TaskDecision.retry({ afterMs }, error)
}
