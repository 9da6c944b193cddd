import type { HeldTask, SupplementToken, TaskDecision, TaskSupplement } from '@taskstream/task-api'
import type { Decisions, HandlerContext } from '../core/task-handler.ts'

/** The description of a step of a composite. */
export interface Step {
  readonly id: string
  /** Whether the step gets its tasks one by one, or together. */
  readonly kind: 'each' | 'batch'
  /** The ids of the steps that this step waits for. */
  readonly after: readonly string[]
}

/** The context that a step gets beside its tasks and their supplement. The inherited members are those of `HandlerContext`. */
export interface StepContext extends Pick<HandlerContext<never>, 'topic' | 'clock' | 'at'> {
  readonly step: Step
  /**
   * Aborted when the step should let go of its tasks: when the handler's own signal is aborted, when the composite is closed before the
   * tasks are done, or when another step has made the batch fail. Decisions after the abort are ignored.
   */
  readonly signal: AbortSignal
  /** Makes a decision of an error: the decision that the error carries, or another try by the retry policy, or a failure. */
  failed(task: HeldTask, error: unknown): TaskDecision
}

/** Handles one task. Returning nothing is a success. An error affects this task only. */
export type EachStep = (
  task: HeldTask,
  supplement: TaskSupplement,
  context: StepContext,
) => TaskDecision | void | Promise<TaskDecision | void>

/** Returns a value for one task, for later steps; or returns a decision about the task instead. */
export type ValueStep<Value> = (
  task: HeldTask,
  supplement: TaskSupplement,
  context: StepContext,
) => Value | TaskDecision | Promise<Value | TaskDecision>

/**
 * Handles tasks together. Returning nothing is a success of all these tasks. A task without a decision in a returned map fails. An error
 * becomes a decision about each of these tasks. A decision about a task that the step did not get fails the whole batch.
 */
export type BatchStep = (
  tasks: readonly HeldTask[],
  supplement: TaskSupplement,
  context: StepContext,
) => Decisions | void | Promise<Decisions | void>

/** Runs a step with those tasks of a batch that the steps before it have continued. An error becomes a decision about each of these tasks. */
export type StepRun = (tasks: readonly HeldTask[], supplement: TaskSupplement, context: StepContext) => Promise<Decisions | void>

export interface BatchOptions<Ids extends string> {
  /** The steps that this step waits for, each of which was added before. Default: none. */
  readonly after?: readonly Ids[]
}

export interface EachOptions<Ids extends string> extends BatchOptions<Ids> {
  /** How many tasks of a batch are handled at a time, 1 to 10 000. Default: 10. With 1, tasks are handled one after the other in their order. */
  readonly concurrency?: number
}

export interface ValueOptions<Ids extends string, Value> extends EachOptions<Ids> {
  /** The token under which the value is registered for its task. */
  readonly provides: SupplementToken<Value>
}

/** A step that can be run. */
export interface RunnableStep extends Step {
  readonly run: StepRun
}
