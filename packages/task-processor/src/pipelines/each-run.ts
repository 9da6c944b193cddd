import { invalid, TaskDecision } from '@taskstream/task-api'
import type { HeldTask, SupplementToken, TaskSupplement } from '@taskstream/task-api'
import pLimit from 'p-limit'
import type { EachStep, StepContext, StepRun, ValueStep } from './step.ts'

const success = TaskDecision.success()

/** A step of single tasks at work on many: so many at a time, begun in their order, and each with a decision of its own. */
export function eachRun(
  handle: EachStep | ValueStep<unknown>,
  concurrency: number,
  provides: SupplementToken<unknown> | undefined,
): StepRun {
  return async (tasks, supplement, context) => {
    const limit = pLimit(concurrency)
    const decided = tasks.map((task) =>
      limit(async (): Promise<[HeldTask, TaskDecision]> => {
        // The remaining tasks of an aborted batch are not begun.
        context.signal.throwIfAborted()
        context.at(task)
        return [task, await decide(handle, provides, task, supplement, context)]
      }),
    )
    return new Map(await allEnded(decided))
  }
}

async function decide(
  handle: EachStep | ValueStep<unknown>,
  provides: SupplementToken<unknown> | undefined,
  task: HeldTask,
  supplement: TaskSupplement,
  context: StepContext,
): Promise<TaskDecision> {
  try {
    const outcome = await handle(task, supplement, context)
    if (outcome instanceof TaskDecision) return outcome
    if (provides) supplement.register(provides, outcome, task)
    else if (outcome !== undefined) throw invalid(`step "${context.step.id}"`, outcome, 'must return a TaskDecision, or nothing')
    return success
  } catch (error) {
    return context.failed(task, error)
  }
}

/** Like `Promise.all`, but rejects only when all promises have ended, so that no work goes on unseen. */
async function allEnded<Result>(work: readonly Promise<Result>[]): Promise<Result[]> {
  await Promise.allSettled(work)
  return Promise.all(work)
}
