/** What a handler is given of the jobs that its job needs. */
import { readInput, TaskDecision, TaskDecisionError, taskToString } from '@taskstream/task-api'
import type { HeldTask, TaskDependency, TaskEnding } from '@taskstream/task-api'
import type { AnyJob } from '../definitions/define-job.ts'
import { topicOf } from '../definitions/define-queue.ts'
import { parsed } from '../jobs/job-info.ts'
import type { Need, Settled } from '../definitions/needs.ts'

/** A dependency of a task, and how the task that it is on has ended; undefined if that one is not there. */
export interface NeededEnding extends Required<TaskDependency> {
  readonly ending: TaskEnding | undefined
}

/** @throws TaskDecisionError which fails the job as unreachable, if one of the others has not succeeded any more; TaskError OUTPUT_INVALID */
export function neededResults(
  task: HeldTask,
  needs: ReadonlyMap<string, Need>,
  needed: readonly NeededEnding[],
): Readonly<Record<string, unknown>> {
  const results: Record<string, unknown> = {}
  for (const [name, need] of needs) {
    const all = needed.filter((one) => one.need === name).map(({ ending }) => resultOf(task, name, need, ending))
    results[name] = need.many ? all : all[0]
    if (!need.many && all.length === 0) throw unreachable(task, `nothing is known of "${name}", which it needs`)
  }
  return results
}

function resultOf(task: HeldTask, name: string, { job, tolerant }: Need, ending: TaskEnding | undefined): unknown {
  if (ending?.state === 'succeeded') {
    const value = valueOf(job, ending)
    return tolerant ? ({ ok: true, value } satisfies Settled<unknown>) : value
  }
  const { state, reason, output } = ending ?? {}
  if (tolerant) return { ok: false, state, reason, output } satisfies Settled<unknown>
  throw unreachable(task, `"${name}", which it needs, ${state === undefined ? 'is not there' : `is ${state} meanwhile`}`)
}

/** The value as the schema of the job that returned it makes it: that job, or the last of those that went on with its work. */
function valueOf(job: AnyJob, { task, value }: TaskEnding): unknown {
  const [one, another] = [...reachedFrom(job)].filter((reached) => topicOf(reached) === task.topic)
  // In a queue, nobody knows which of several definitions the job is of that went on with the work.
  const schema = another === undefined ? one?.settings.output : undefined
  return schema ? readInput(schema, one!.name, value, 'output') : parsed(value)
}

/** The job, and all with which it may go on. */
function reachedFrom(job: AnyJob, found: Set<AnyJob> = new Set()): Set<AnyJob> {
  if (!found.has(job)) for (const next of (found.add(job), job.settings.next())) reachedFrom(next, found)
  return found
}

function unreachable(task: HeldTask, why: string): TaskDecisionError {
  return new TaskDecisionError(TaskDecision.failure(`${taskToString(task)} cannot be done: ${why}`).because('unreachable'))
}
