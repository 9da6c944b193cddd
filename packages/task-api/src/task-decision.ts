import { TaskError } from './task-error.ts'
import { checkDuration, cutText, invalid, taskLimits } from './task-limits.ts'
import { taskToString } from './task.ts'
import type { Task } from './task.ts'
import { mergeResults, stateOf, taskReasons } from './task-state.ts'
import type { TaskReason, TaskResult, TaskState } from './task-state.ts'

const notAscii = /[^\0-\x7F]/
const notAsciiCharacters = /[^\0-\x7F]/gu
/** What a message ends in that was cut. */
const cut = '...'

/** Text or an error that explains a decision. */
export type TaskExplanation = string | Error

/**
 * What a handler decides about a task: a value, immutable.
 *
 * @example
 * TaskDecision.success('sent')                         // done, with a message that becomes the task's output
 * TaskDecision.failure(error)                          // the error's stack becomes the output
 * TaskDecision.retry({ afterMs: 5_000 }, error)        // again, five seconds from now on the database's clock
 */
export class TaskDecision {
  readonly result: TaskResult
  /** Whether later steps go on with the task. By default only after a success. */
  readonly continued: boolean
  /** Set for a retry: the task is suspended and due after so many milliseconds. */
  readonly retryAfterMs: number | undefined
  /** Everything that was said about the task, in order; empty when nothing was. */
  readonly explanations: readonly TaskExplanation[]
  /** Kept with the task, where the result alone does not say why. */
  readonly reason: TaskReason | undefined

  private constructor(
    result: TaskResult,
    explanations: readonly TaskExplanation[] = [],
    continued: boolean = result === 'success',
    retryAfterMs?: number,
    reason?: TaskReason,
  ) {
    this.result = result
    this.explanations = explanations
    this.continued = continued
    this.retryAfterMs = retryAfterMs
    this.reason = reason
  }

  /** Done. */
  static success(message?: string): TaskDecision {
    return new TaskDecision('success', explain(message))
  }

  /** Not done, and not to be tried again by itself. */
  static failure(explanation?: unknown): TaskDecision {
    return new TaskDecision('failure', explain(explanation))
  }

  /** Set aside until somebody revives it. */
  static suspension(explanation?: unknown): TaskDecision {
    return new TaskDecision('suspension', explain(explanation))
  }

  /** Found irrelevant: nothing was done, and nothing needs to be. */
  static filter(explanation?: unknown): TaskDecision {
    return new TaskDecision('filter', explain(explanation))
  }

  /**
   * Suspended, and ready again `afterMs` later by the database's clock; failed instead when the task has used up its `maxTries`.
   *
   * @param afterMs whole milliseconds, 0 to 100 years
   * @throws TaskError ARGUMENT_INVALID
   */
  static retry({ afterMs }: { readonly afterMs: number }, explanation?: unknown): TaskDecision {
    checkDuration('afterMs', afterMs)
    return new TaskDecision('suspension', explain(explanation), false, afterMs)
  }

  /** Joins the decisions of two sets of tasks. @throws TaskError TASK_DUPLICATE if a task is in both. */
  static combine<T extends Task>(left: ReadonlyMap<T, TaskDecision>, right: ReadonlyMap<T, TaskDecision>): Map<T, TaskDecision> {
    const combined = new Map(left)
    for (const [task, decision] of right) {
      if (combined.has(task)) throw new TaskError('TASK_DUPLICATE', `There are two decisions for ${taskToString(task)}`, { task })
      combined.set(task, decision)
    }
    return combined
  }

  /** The merged decisions of the tasks that are in both maps. */
  static merge<T extends Task>(left: ReadonlyMap<T, TaskDecision>, right: ReadonlyMap<T, TaskDecision>): Map<T, TaskDecision> {
    const merged = new Map<T, TaskDecision>()
    for (const [task, decision] of left) {
      const other = right.get(task)
      if (other) merged.set(task, decision.merge(other))
    }
    return merged
  }

  /** The state this decision leads to, while tries are left. */
  get state(): TaskState {
    return stateOf(this.result)
  }

  /** The same decision with another word on whether later steps go on. */
  withContinuation(continued: boolean): TaskDecision {
    return continued === this.continued
      ? this
      : new TaskDecision(this.result, this.explanations, continued, this.retryAfterMs, this.reason)
  }

  /**
   * The same decision for a reason that is kept with the task, and can be filtered by. No tries being left outweighs it.
   *
   * @throws TaskError ARGUMENT_INVALID
   * @example
   * TaskDecision.filter('The order was withdrawn').because('cancelled')
   */
  because(reason: TaskReason): TaskDecision {
    if (!taskReasons.includes(reason)) throw invalid('reason', reason, `must be one of ${taskReasons.join(', ')}`)
    return reason === this.reason
      ? this
      : new TaskDecision(this.result, this.explanations, this.continued, this.retryAfterMs, reason)
  }

  /** The same decision with one more explanation; nothing given, or given before, changes nothing. */
  include(explanation?: unknown): TaskDecision {
    const added = explain(explanation).filter((one) => !this.explanations.includes(one))
    return added.length === 0
      ? this
      : new TaskDecision(this.result, [...this.explanations, ...added], this.continued, this.retryAfterMs, this.reason)
  }

  /**
   * One decision of two: the weightier result, both explanations, continued only if both are. Of two suspensions the longer
   * wait wins, and one without an end is the longest. The reason is that of the weightier result.
   */
  merge(other: TaskDecision): TaskDecision {
    const explanations = [...this.explanations, ...other.explanations.filter((one) => !this.explanations.includes(one))]
    const waits = [this, other].filter((decision) => decision.result === 'suspension').map((decision) => decision.retryAfterMs)
    const result = mergeResults(this.result, other.result)
    const retryAfterMs =
      result === 'suspension' && !waits.includes(undefined) ? Math.max(...(waits as readonly number[])) : undefined
    const [first, second] = result === this.result ? [this, other] : [other, this]
    const reason = first.reason ?? (second.result === result ? second.reason : undefined)
    return new TaskDecision(result, explanations, this.continued && other.continued, retryAfterMs, reason)
  }

  /**
   * The same decision, with a message that any database can keep, whatever its encoding: each character that is not ASCII is written as its
   * number, `日` as `\u{65e5}`. The decision itself, if there is none.
   */
  inAscii(): TaskDecision {
    const message = this.toMessage()
    if (message === undefined || !notAscii.test(message)) return this
    const escaped = message.replaceAll(notAsciiCharacters, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
    const explanation =
      escaped.length > taskLimits.outputLength ? `${escaped.slice(0, taskLimits.outputLength - cut.length)}${cut}` : escaped
    return new TaskDecision(this.result, [explanation], this.continued, this.retryAfterMs, this.reason)
  }

  /** What is kept as the task's output: nothing, the message, an error with its stack, or all of them one below the other. */
  toMessage(): string | undefined {
    if (this.explanations.length === 0) return undefined
    const text = this.explanations.map(describe).join('\n')
    return cutText(text, taskLimits.outputLength)
  }

  /** Whether two decisions would be stored alike. */
  isSameAs(other: TaskDecision): boolean {
    return (
      this === other ||
      (this.result === other.result &&
        this.retryAfterMs === other.retryAfterMs &&
        this.reason === other.reason &&
        this.toMessage() === other.toMessage())
    )
  }
}

/**
 * Carries a decision out of code that cannot return one.
 *
 * @example
 * throw new TaskDecisionError(TaskDecision.filter('customer is gone'))
 */
export class TaskDecisionError extends Error {
  readonly decision: TaskDecision

  constructor(decision: TaskDecision) {
    super(decision.toMessage() ?? `decided: ${decision.result}`)
    this.name = 'TaskDecisionError'
    this.decision = decision
  }
}

/** The decision that something thrown stands for: one that it carries, and otherwise a failure. */
export function toDecision(thrown: unknown): TaskDecision {
  return carriedDecision(thrown) ?? TaskDecision.failure(thrown)
}

/** The decision that something thrown carries, itself or in what caused it; undefined if it is a plain error. */
export function carriedDecision(thrown: unknown): TaskDecision | undefined {
  const seen = new Set<Error>()
  for (let error = thrown; error instanceof Error && !seen.has(error); error = error.cause) {
    if (error instanceof TaskDecisionError) return error.decision
    // An error may have been made its own cause.
    seen.add(error)
  }
  return undefined
}

function explain(explanation: unknown): TaskExplanation[] {
  if (explanation === undefined || explanation === null || explanation === '') return []
  return [typeof explanation === 'string' || explanation instanceof Error ? explanation : String(explanation)]
}

function describe(explanation: TaskExplanation): string {
  const text =
    // A stack may have been emptied: what is stored is never empty, which to Oracle would be nothing.
    typeof explanation === 'string' ? explanation : explanation.stack || `${explanation.name}: ${explanation.message}`
  // What a handler says must never be the reason that its decision cannot be stored.
  return text.toWellFormed().replaceAll('\0', '\uFFFD')
}
