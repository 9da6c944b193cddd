/** The span of a handler's call, which ends when it is known what has become of its tasks. */
import type { Context, Span } from '@opentelemetry/api'
import type { HeldTask, TaskDecision } from '@taskstream/task-api'
import { errorType, outcomeCount, own } from '../core/conventions.ts'
import { errorOf, failureType, outcomeOf } from '../core/error-type.ts'
import { fail, failBy } from './tracing.ts'

export class Handled {
  readonly context: Context
  readonly span: Span
  readonly #onEnd: () => void
  readonly #open: Set<HeldTask>
  readonly #isAlone: boolean
  readonly #counts = new Map<string, number>()
  #endedAt: Date | undefined
  #isStuck = false
  #isFailed = false
  #isOver = false

  constructor(context: Context, span: Span, tasks: readonly HeldTask[], onEnd: () => void) {
    this.context = context
    this.span = span
    this.#open = new Set(tasks)
    this.#isAlone = tasks.length === 1
    this.#onEnd = onEnd
  }

  /** The handler has returned or thrown. */
  returned(call: { readonly error?: unknown }): void {
    this.#endedAt = new Date()
    if ('error' in call) this.#fail(() => failBy(this.span, call.error))
    this.#look()
  }

  /** Tasks were completed. */
  decided(tasks: readonly HeldTask[], decisions: ReadonlyMap<HeldTask, TaskDecision>): void {
    for (const task of tasks) {
      const decision = decisions.get(task)
      if (!decision || !this.#open.delete(task)) continue
      const outcome = outcomeOf(task, decision)
      this.#count(outcome)
      if (outcome === 'failure') this.#fail(() => fail(this.span, failureType(decision), errorOf(decision)))
      if (outcome === 'retry') this.#retried(task, decision)
    }
    this.#look()
  }

  /** Nothing was written for the tasks: others have taken them. */
  lost(tasks: readonly HeldTask[]): void {
    if (!this.#remove(tasks, 'lost')) return
    this.#fail(() => fail(this.span, 'TASK_LOST'))
    this.#look()
  }

  /** The tasks are ready again. */
  handedBack(tasks: readonly HeldTask[], error?: unknown): void {
    if (!this.#remove(tasks, 'returned')) return
    if (error !== undefined) this.#fail(() => failBy(this.span, error))
    this.#look()
  }

  /** The tasks could not be written as decided. What becomes of them instead, the span does not wait for. */
  unwritten(tasks: readonly HeldTask[], error: unknown): void {
    if (!this.#remove(tasks, 'unwritten')) return
    this.#fail(() => failBy(this.span, error))
    this.#look()
  }

  /** The handler has not let go: its tasks are decided without it. */
  stuck(): void {
    this.#isStuck = true
    this.span.setAttribute(own.stuck, true)
    this.#fail(() => fail(this.span, 'TASK_TIMEOUT'))
    this.#look()
  }

  /** Ends the span, whatever is known. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    for (const [outcome, count] of this.#counts)
      if (this.#isAlone) this.span.setAttribute(own.outcome, outcome)
      else this.span.setAttribute(outcomeCount(outcome), count)
    this.span.end(this.#endedAt)
    this.#onEnd()
  }

  #look(): void {
    if (this.#open.size === 0 && (this.#endedAt || this.#isStuck)) this.end()
  }

  /** A retry is no error, as the task goes on. */
  #retried({ tries }: HeldTask, decision: TaskDecision): void {
    const error = errorOf(decision)
    const { retryAfterMs = 0 } = decision
    this.span.addEvent('taskstream.retry', {
      'taskstream.retry.after': retryAfterMs / 1_000,
      [own.tries]: tries,
      ...(error && { [errorType]: failureType(decision) }),
    })
  }

  /** The first error is the one that is told: a span has one type, and one exception. */
  #fail(tell: () => void): void {
    if (!this.#isFailed) tell()
    this.#isFailed = true
  }

  #remove(tasks: readonly HeldTask[], outcome: string): boolean {
    let removed = 0
    for (const task of tasks) if (this.#open.delete(task)) removed++
    if (removed > 0) this.#count(outcome, removed)
    return removed > 0
  }

  #count(outcome: string, count = 1): void {
    this.#counts.set(outcome, (this.#counts.get(outcome) ?? 0) + count)
  }
}
