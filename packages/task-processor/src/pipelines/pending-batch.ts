import { TaskDecision, TaskError } from '@taskstream/task-api'
import type { HeldTask, TaskSupplement } from '@taskstream/task-api'
import { afterTransaction, applyContexts, openContexts } from '../handlers/apply-contexts.ts'
import type { OpenContext } from '../handlers/apply-contexts.ts'
import type { TaskContext, TaskContextFactory } from '../handlers/task-context.ts'
import type { Decisions, HandlerContext } from '../core/task-handler.ts'
import { runSteps } from './run-steps.ts'
import type { RunnableStep } from './step.ts'

/** The steps and contexts that handle every batch of a composite. */
export interface CompositePlan<Transaction> {
  readonly steps: readonly RunnableStep[]
  readonly contexts: readonly (TaskContext<Transaction> | TaskContextFactory<Transaction>)[]
  readonly supplement: (tasks: readonly HeldTask[]) => TaskSupplement
}

/** What closing a composite does with batches whose steps are still running. */
export type PendingOnClose = 'handle' | 'return' | 'fail'

/**
 * A batch from its first step to its completion. Its outcome is that of its steps or that of a close, whichever comes first. A close leaves
 * a batch alone whose completion has begun. A batch that a close has ended is never completed.
 */
export class PendingBatch<Transaction> {
  /** The promise that the handler returns. */
  readonly outcome: Promise<Decisions | void>
  readonly #tasks: readonly HeldTask[]
  readonly #context: HandlerContext<Transaction>
  readonly #closing = new AbortController()
  readonly #closed = Promise.withResolvers<Decisions>()
  #completing = false

  constructor(plan: CompositePlan<Transaction>, tasks: readonly HeldTask[], context: HandlerContext<Transaction>) {
    this.#tasks = tasks
    this.#context = context
    // After a close, the later outcome of the running steps is ignored.
    this.outcome = Promise.race([this.#run(plan), this.#closed.promise])
  }

  /** Asks running steps to let go, without waiting for them. Their later decisions are ignored. */
  close(pending: PendingOnClose): void {
    if (pending === 'handle' || this.#completing) return
    const { topic } = this.#context
    const error = new TaskError('SHUTDOWN', `The pipeline of topic "${topic}" was closed before this task was done`, { topic })
    this.#closing.abort(error)
    if (pending === 'return') this.#closed.reject(error)
    else this.#closed.resolve(new Map(this.#tasks.map((task) => [task, TaskDecision.failure(error)])))
  }

  async #run({ steps, contexts, supplement: supplementOf }: CompositePlan<Transaction>): Promise<Decisions | void> {
    const { topic } = this.#context
    const tasks = this.#tasks
    const supplement = supplementOf(tasks)
    const opened = openContexts(contexts, { topic, tasks, supplement })
    const signal = AbortSignal.any([this.#context.signal, this.#closing.signal])
    const decisions = await runSteps(steps, { tasks, supplement, signal, context: this.#context })
    // An abort after the end of the last step counts like an abort during the step.
    signal.throwIfAborted()
    this.#completing = true
    return opened.length === 0 ? decisions : this.#complete(opened, decisions, supplement)
  }

  async #complete(
    contexts: readonly OpenContext<Transaction>[],
    decisions: Decisions,
    supplement: TaskSupplement,
  ): Promise<undefined> {
    // Only the last run counts, as the transaction source may have rolled back earlier runs.
    let applied = decisions
    const completion = await this.#context.complete(
      contexts.some(({ context }) => context.apply)
        ? async (transaction, held) => {
            applied = new Map(held.map((task) => [task, decisions.get(task) as TaskDecision]))
            if (held.length > 0) applied = await applyContexts(contexts, transaction, applied, supplement)
            return applied
          }
        : decisions,
    )
    if (completion.completed.length === 0) return
    const committed = new Map(completion.completed.map((task) => [task, applied.get(task) as TaskDecision]))
    const wake = (topic: string): void => this.#context.wake(topic)
    // An error after the completion is only reported.
    await afterTransaction(contexts, { completion, decisions: committed, wake })
  }
}
