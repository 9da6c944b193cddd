import { describe, explain } from './explanation.ts'
import { TaskError } from './task-error.ts'
import { checkDuration, checkInteger, checkStorable, checkTopic, cutText, invalid, taskLimits } from './task-limits.ts'
import { taskToString } from './task.ts'
import type { Task, TaskKey } from './task.ts'
import { mergeResults, stateOf, taskReasons } from './task-state.ts'
import type { TaskReason, TaskResult, TaskState } from './task-state.ts'

const notAscii = /[^\0-\x7F]/
const notAsciiCharacters = /[^\0-\x7F]/gu
const notAsciiUnits = /[^\0-\x7F]/g
/** The end of a message that was cut. */
const cut = '...'

/** Text or an error that explains a decision. */
export type TaskExplanation = string | Error

/** What most decisions leave out. */
type More = {
  readonly [Field in 'continued' | 'retryAfterMs' | 'reason' | 'refunded' | 'value' | 'successor']?:
    | TaskDecision[Field]
    | undefined
}

/** A result, where retries and snoozes are told apart from suspensions, which wait for somebody. */
export type DecisionOutcome = TaskResult | 'retry' | 'snooze'

/**
 * What a handler decides about a task: a result, and perhaps a message, a retry or a reason. Decisions are immutable.
 *
 * @example
 * TaskDecision.success('sent')                         // done; the message becomes the task's output
 * TaskDecision.failure(error)                          // the error's stack becomes the output
 * TaskDecision.retry({ afterMs: 5_000 }, error)        // again, five seconds from now on the database's clock
 */
export class TaskDecision {
  readonly result: TaskResult
  /** Whether later steps go on with the task. By default only after a success. */
  readonly continued: boolean
  /** Only for a retry: after how many milliseconds the suspended task is due. */
  readonly retryAfterMs: number | undefined
  /** The explanations that were given, in order. */
  readonly explanations: readonly TaskExplanation[]
  /** Why the task gets its state, where the result alone does not say so. It is kept with the task. */
  readonly reason: TaskReason | undefined
  /** Whether the task gets its try back, so that it does not count towards `maxTries`. True for a snooze only. */
  readonly refunded: boolean
  /** What the task returns, as JSON text. It is kept apart from the output, for those who wait for the task. */
  readonly value: string | undefined
  /** The task that goes on with the work of this one. Whoever waits for this task waits for that one. */
  readonly successor: TaskKey | undefined

  private constructor(result: TaskResult, explanations: readonly TaskExplanation[] = [], more: More = {}) {
    this.result = result
    this.explanations = explanations
    this.continued = more.continued ?? result === 'success'
    this.retryAfterMs = more.retryAfterMs
    this.reason = more.reason
    this.refunded = more.refunded ?? false
    this.value = more.value
    this.successor = more.successor
  }

  /** The task is done. The message becomes its output. */
  static success(message?: string): TaskDecision {
    return new TaskDecision('success', explain(message))
  }

  /** The task failed. It is not tried again, unless somebody revives it. */
  static failure(explanation?: unknown): TaskDecision {
    return new TaskDecision('failure', explain(explanation))
  }

  /** The task is set aside until somebody revives it. */
  static suspension(explanation?: unknown): TaskDecision {
    return new TaskDecision('suspension', explain(explanation))
  }

  /** The task is irrelevant: nothing was done, and nothing needs to be done. */
  static filter(explanation?: unknown): TaskDecision {
    return new TaskDecision('filter', explain(explanation))
  }

  /**
   * The task is to be tried again: it is suspended, and due `afterMs` later by the database's clock. A task that has used up its `maxTries` fails
   * instead.
   *
   * @param pause `afterMs` in whole milliseconds, 0 to 100 years
   * @throws TaskError ARGUMENT_INVALID
   * @example
   * TaskDecision.retry({ afterMs: 5_000 }, error)
   */
  static retry(pause: { readonly afterMs: number }, explanation?: unknown): TaskDecision {
    const afterMs = checkedPause(pause)
    return new TaskDecision('suspension', explain(explanation), { retryAfterMs: afterMs })
  }

  /**
   * The task is not to be done now: it is suspended, and due `afterMs` later by the database's clock. Unlike a retry, this does not use up one of its
   * tries, so a task can be put off any number of times. For what is nobody's fault: a service that asks for patience, a limit, a worker of an
   * earlier release.
   *
   * @param pause `afterMs` in whole milliseconds, 0 to 100 years
   * @throws TaskError ARGUMENT_INVALID
   * @example
   * if (response.status === 429) return TaskDecision.snooze({ afterMs: 60_000 }, 'the service is busy')
   */
  static snooze(pause: { readonly afterMs: number }, explanation?: unknown): TaskDecision {
    const afterMs = checkedPause(pause)
    return new TaskDecision('suspension', explain(explanation), { retryAfterMs: afterMs, refunded: true })
  }

  /** Joins two maps of decisions that have no task in common. @throws TaskError TASK_DUPLICATE if a task is in both */
  static combine<T extends Task>(left: ReadonlyMap<T, TaskDecision>, right: ReadonlyMap<T, TaskDecision>): Map<T, TaskDecision> {
    checkDecisions(left)
    checkDecisions(right)
    const combined = new Map(left)
    for (const [task, decision] of right) {
      if (combined.has(task)) throw new TaskError('TASK_DUPLICATE', `There are two decisions for ${taskToString(task)}`, { task })
      combined.set(task, decision)
    }
    return combined
  }

  /** Merges the decisions of the tasks that are in both maps; the other tasks are left out. */
  static merge<T extends Task>(left: ReadonlyMap<T, TaskDecision>, right: ReadonlyMap<T, TaskDecision>): Map<T, TaskDecision> {
    checkDecisions(left)
    checkDecisions(right)
    const merged = new Map<T, TaskDecision>()
    for (const [task, decision] of left) {
      const other = right.get(task)
      if (other) merged.set(task, decision.merge(other))
    }
    return merged
  }

  /** The state to which this decision leads. A retry leads to `failed` instead if no tries are left. */
  get state(): TaskState {
    return stateOf(this.result)
  }

  /**
   * Whether something is kept of the decision outside the task's own row: a value, a successor, or an attempt that did not succeed. The completion is
   * then more than one statement, and needs a transaction.
   */
  get keepsMore(): boolean {
    return this.value !== undefined || this.successor !== undefined || this.isRecorded
  }

  /** Whether the attempt stands in the history of its task, as it did not succeed: a failure, a retry or a suspension. In a snooze nobody has failed. */
  get isRecorded(): boolean {
    return (this.result === 'failure' || this.result === 'suspension') && !this.refunded
  }

  /** What the decision does, where the result alone does not tell a retry or a snooze from a suspension. For listeners and counts. */
  get outcome(): DecisionOutcome {
    if (this.result !== 'suspension' || this.retryAfterMs === undefined) return this.result
    return this.refunded ? 'snooze' : 'retry'
  }

  /** The same decision, with or without the continuation of later steps. */
  withContinuation(continued: boolean): TaskDecision {
    return continued === this.continued ? this : this.#with({ continued })
  }

  /**
   * The same decision with a reason. The reason is kept with the task, and filters find it. If a retry fails because no tries are left, the reason
   * is `tries` instead.
   *
   * @throws TaskError ARGUMENT_INVALID
   * @example
   * TaskDecision.filter('The order was withdrawn').because('cancelled')
   */
  because(reason: TaskReason): TaskDecision {
    if (!taskReasons.includes(reason)) throw invalid('reason', reason, `must be one of ${taskReasons.join(', ')}`)
    return reason === this.reason ? this : this.#with({ reason })
  }

  /**
   * The same success, with a value that the task returns.
   *
   * @param value JSON text, of at most 16 777 216 characters
   * @throws TaskError ARGUMENT_INVALID if the value is no JSON, or is too long; LIFECYCLE unless the decision is a success
   * @example
   * TaskDecision.success().withValue(JSON.stringify({ invoice: 7 }))
   */
  withValue(value: string): TaskDecision {
    this.#checkSuccess('a value')
    checkStorable('value', value, taskLimits.inputLength)
    if (!isJson(value)) throw invalid('value', value, 'must be JSON')
    return this.#with({ value })
  }

  /**
   * The same success, with the task that goes on with the work of this one. Push that task in the transaction that completes this one.
   *
   * @throws TaskError ARGUMENT_INVALID; LIFECYCLE unless the decision is a success
   * @example
   * const [shipment] = await tasks.push(tx, 'shipments', 'order-7')
   * return TaskDecision.success().withSuccessor(shipment)
   */
  withSuccessor(successor: TaskKey): TaskDecision {
    this.#checkSuccess('a successor')
    if (typeof successor !== 'object' || successor === null) throw invalid('successor', successor, 'must be a task')
    const { topic, sequence } = successor
    checkTopic(topic)
    checkInteger('sequence', sequence, 0, Number.MAX_SAFE_INTEGER)
    return this.#with({ successor: { topic, sequence } })
  }

  #checkSuccess(what: string): void {
    if (this.result !== 'success')
      throw new TaskError('LIFECYCLE', `A decision of ${this.result} cannot have ${what}: only a success can`)
  }

  /** The same decision with one more explanation. An empty explanation, or one that was given before, changes nothing. */
  include(explanation?: unknown): TaskDecision {
    const added = explain(explanation).filter((one) => !this.explanations.includes(one))
    return added.length === 0 ? this : this.#with({ explanations: [...this.explanations, ...added] })
  }

  /**
   * Merges two decisions into one. The weightier result wins: failure, then suspension, filter, success. The explanations of both are kept. Later
   * steps go on only if both decisions continue. The value and the successor of a success are those of the second, if it has any. Of two suspensions the longer wait wins, and a suspension without a retry is the longest; the try
   * counts unless both are snoozes. The reason is that of the weightier result.
   */
  merge(other: TaskDecision): TaskDecision {
    const explanations = [...this.explanations, ...other.explanations.filter((one) => !this.explanations.includes(one))]
    const suspensions = [this, other].filter((decision) => decision.result === 'suspension')
    const waits = suspensions.map((decision) => decision.retryAfterMs)
    const result = mergeResults(this.result, other.result)
    const retryAfterMs =
      result === 'suspension' && !waits.includes(undefined) ? Math.max(...(waits as readonly number[])) : undefined
    const [first, second] = result === this.result ? [this, other] : [other, this]
    const reason = first.reason ?? (second.result === result ? second.reason : undefined)
    const refunded = retryAfterMs !== undefined && suspensions.every((decision) => decision.refunded)
    return new TaskDecision(result, explanations, {
      continued: this.continued && other.continued,
      retryAfterMs,
      reason,
      refunded,
      ...(result === 'success' && { value: other.value ?? this.value, successor: other.successor ?? this.successor }),
    })
  }

  /**
   * The same decision, with a message that a database of any encoding can keep: each character that is not ASCII is written as its code point,
   * `日` as `\u{65e5}`. The value stays the same JSON. A decision in ASCII is returned as it is.
   */
  inAscii(): TaskDecision {
    const value = this.value?.replaceAll(notAsciiUnits, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    const message = this.toMessage()
    if (message === undefined || !notAscii.test(message)) return value === this.value ? this : this.#with({ value })
    const escaped = message.replaceAll(notAsciiCharacters, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)
    const explanation =
      escaped.length > taskLimits.outputLength ? `${escaped.slice(0, taskLimits.outputLength - cut.length)}${cut}` : escaped
    return this.#with({ explanations: [explanation], value })
  }

  /** The text that is kept as the task's output: each explanation on a line of its own, an error with its stack. Undefined without explanations. */
  toMessage(): string | undefined {
    if (this.explanations.length === 0) return undefined
    const text = this.explanations.map(describe).join('\n')
    return cutText(text, taskLimits.outputLength)
  }

  #with(changes: More & { readonly explanations?: readonly TaskExplanation[] }): TaskDecision {
    const { result, explanations, ...more } = { ...this, ...changes }
    return new TaskDecision(result, explanations, more)
  }

  /** Whether two decisions would be stored alike. */
  isSameAs(other: TaskDecision): boolean {
    return (
      this === other ||
      (this.result === other.result &&
        this.retryAfterMs === other.retryAfterMs &&
        this.reason === other.reason &&
        this.refunded === other.refunded &&
        this.value === other.value &&
        this.successor?.topic === other.successor?.topic &&
        this.successor?.sequence === other.successor?.sequence &&
        this.toMessage() === other.toMessage())
    )
  }
}

/**
 * Carries a decision out of code that cannot return a decision: a handler that throws the error decides so.
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

/** The decision for a thrown value: the decision that it carries, or else a failure. */
export function toDecision(thrown: unknown): TaskDecision {
  return carriedDecision(thrown) ?? TaskDecision.failure(thrown)
}

/** The decision that a thrown value carries, by itself or in its chain of causes. Undefined if there is none. */
export function carriedDecision(thrown: unknown): TaskDecision | undefined {
  const seen = new Set<Error>()
  try {
    for (let error = thrown; error instanceof Error && !seen.has(error); error = error.cause) {
      if (error instanceof TaskDecisionError) return error.decision
      // An error may have been made its own cause.
      seen.add(error)
    }
  } catch {
    // The code of a thrown value may throw, as a revoked proxy does. Such a value carries nothing.
  }
  return undefined
}

function checkedPause(pause: { readonly afterMs: number }): number {
  if (typeof pause !== 'object' || pause === null) throw invalid('pause', pause, 'must be an object, such as { afterMs: 5_000 }')
  const { afterMs } = pause
  checkDuration('afterMs', afterMs)
  return afterMs
}

function checkDecisions(decisions: unknown): void {
  if (!(decisions instanceof Map)) throw invalid('decisions', decisions, 'must be a Map of decisions by task')
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
