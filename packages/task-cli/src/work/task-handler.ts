/** What programs and services have in common as handlers of tasks. */
import { isTaskError, TaskDecisionError, TaskError } from '@taskstream/task-api'
import type { HeldTask, TaskDecision } from '@taskstream/task-api'
import type { BatchHandler } from '@taskstream/task-processor'

/** Handles a task. What it throws is a failed try, unless it throws because the signal is aborted. */
export type HandleTask = (task: HeldTask, signal: AbortSignal) => Promise<TaskDecision>

/** A program that nobody can start: every other task would fail the same way. */
export class ProgramMissing extends Error {}

/** What is told of the tasks at work here. */
export interface TaskWatch {
  began(task: HeldTask): void
  ended(task: HeldTask): void
  /** The work cannot go on. The task is handed back as if nobody had tried it. */
  missing(error: ProgramMissing): void
}

/** Makes the handler of a topic that is polled with the size 1. */
export function handlerOf(handle: HandleTask, watch: TaskWatch): BatchHandler<unknown> {
  return async ([task], context) => {
    if (!task || context.aborted) return undefined
    watch.began(task)
    try {
      return new Map([[task, await handle(task, context.signal)]])
    } catch (error) {
      if (error instanceof ProgramMissing) {
        watch.missing(error)
        throw new TaskError('SHUTDOWN', error.message, {}, { cause: error })
      }
      // Whatever is thrown of a task whose time is up, its output says more than the time-out.
      if (context.aborted && !isTaskError(error, 'TASK_TIMEOUT')) throw error
      return new Map([[task, context.failed(task, withoutStack(error))]])
    } finally {
      watch.ended(task)
    }
  }
}

/** Takes the stacks out of an error, as they are of this program and not of the user's. The text of an error is its stack. */
function withoutStack(error: unknown): unknown {
  const of = error instanceof TaskDecisionError ? error.decision.explanations : [error]
  for (const one of of) if (isTaskError(one)) one.stack = one.message
  return error
}
