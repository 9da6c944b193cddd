import type { HeldTask, SupplementToken, TaskDecision, TaskSupplement } from '@taskstream/task-api'
import type { Decisions, HandlerContext } from '../core/task-handler.ts'

/** A step of a composite, as it was described. */
export interface Step {
  readonly id: string
  /** Whether it is given its tasks one by one, or all at once. */
  readonly kind: 'each' | 'batch'
  /** The steps that it waits for. */
  readonly after: readonly string[]
}

/** What a step is given beside its tasks and their supplement; what is not said here is as it is for handlers. */
export interface StepContext extends Pick<HandlerContext<never>, 'topic' | 'clock' | 'at'> {
  readonly step: Step
  /**
   * Aborted when the tasks should be let go of: as the handler's own signal is, when the composite is closed before they are done, and
   * when another step has made the batch fail. Nothing that is decided from then on counts.
   */
  readonly signal: AbortSignal
  /** What an error means for a task: the decision that it carries; otherwise another try by the retry policy, or a failure. */
  failed(task: HeldTask, error: unknown): TaskDecision
}

/** Handles one task. Nothing returned is a success; what is thrown is the task's alone. */
export type EachStep = (
  task: HeldTask,
  supplement: TaskSupplement,
  context: StepContext,
) => TaskDecision | void | Promise<TaskDecision | void>

/** Finds a value for one task, for later steps to work with; or decides about the task instead. */
export type ValueStep<Value> = (
  task: HeldTask,
  supplement: TaskSupplement,
  context: StepContext,
) => Value | TaskDecision | Promise<Value | TaskDecision>

/**
 * Handles tasks together. Nothing returned is a success of all; a task without a decision fails; what is thrown is decided for all of
 * them; a decision for a task that it was not given fails the whole batch.
 */
export type BatchStep = (
  tasks: readonly HeldTask[],
  supplement: TaskSupplement,
  context: StepContext,
) => Decisions | void | Promise<Decisions | void>

/** A step at work on the tasks of a batch that have come to it. What it throws is decided for all of them. */
export type StepRun = (tasks: readonly HeldTask[], supplement: TaskSupplement, context: StepContext) => Promise<Decisions | void>

export interface BatchOptions<Ids extends string> {
  /** The steps that it waits for, each added before. Default: none. */
  readonly after?: readonly Ids[]
}

export interface EachOptions<Ids extends string> extends BatchOptions<Ids> {
  /** How many tasks of a batch are handled at a time, 1 to 10 000. Default 10. With 1 they follow each other in their order. */
  readonly concurrency?: number
}

export interface ValueOptions<Ids extends string, Value> extends EachOptions<Ids> {
  /** What the value is registered as, for its task. */
  readonly provides: SupplementToken<Value>
}

/** A step that can be run. */
export interface RunnableStep extends Step {
  readonly run: StepRun
}
