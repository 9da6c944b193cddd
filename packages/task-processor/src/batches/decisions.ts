import { carriedDecision, invalid, isTaskError, TaskDecision, TaskError, taskToString } from '@taskstream/task-api'
import type { Completion, HeldTask } from '@taskstream/task-api'
import type { BatchEvent, SafeListener } from '../core/listener.ts'
import { countOutcomes } from '../core/outcomes.ts'
import type { RetryPolicy } from '../core/retry-policy.ts'
import type { Decisions } from '../core/task-handler.ts'

/**
 * Completes decisions so that there is one for each task: a task without a decision fails.
 *
 * @throws TaskError ARGUMENT_INVALID, TASK_UNKNOWN
 */
export function complement(tasks: readonly HeldTask[], decisions: Decisions): Decisions {
  checkDecisions(tasks, decisions)
  if (decisions.size === tasks.length) return decisions
  const missing = TaskDecision.failure('The handler returned no decision for this task')
  return new Map(tasks.map((task) => [task, decisions.get(task) ?? missing]))
}

/** The event of a completion that was committed. */
export function completedEvent(
  event: BatchEvent,
  completion: Completion,
  decisions: Decisions,
): Parameters<SafeListener['onComplete']>[0] {
  return { ...event, completion, decisions, outcomes: countOutcomes(completion.completed, decisions) }
}

/** Makes the error for a handler that returns nothing, although it has neither completed its batch nor been aborted. */
export function decisionsMissing(topic: string): TaskError {
  return new TaskError(
    'DECISIONS_MISSING',
    `The handler of topic "${topic}" returned nothing: return a Map of its tasks to decisions, or call context.complete; a handler of single tasks is wrapped in eachTask`,
    { topic },
  )
}

/** Checks decisions. @throws TaskError ARGUMENT_INVALID unless they are a Map of tasks to decisions; TASK_UNKNOWN if a task is not of the batch */
export function checkDecisions(tasks: readonly HeldTask[], decisions: Decisions): void {
  if (!(decisions instanceof Map))
    throw new TaskError('ARGUMENT_INVALID', 'A handler must return a Map of its tasks to decisions', { decisions })
  let known = 0
  for (const task of tasks) {
    if (!decisions.has(task)) continue
    known++
    if (!(decisions.get(task) instanceof TaskDecision))
      throw invalid(`decision of ${taskToString(task)}`, decisions.get(task), 'must be a TaskDecision')
  }
  if (known === decisions.size) return
  const unknown = [...decisions.keys()].find((task) => !tasks.includes(task))
  const what = unknown ? taskToString(unknown) : 'a task'
  throw new TaskError('TASK_UNKNOWN', `There is a decision for ${what}, which is not of the batch`, { task: unknown })
}

/** Whether decisions are written by the statement that changes the rows of their tasks. */
export function isSingleStatement(decisions: Decisions): boolean {
  let isSingle = true
  decisions.forEach(({ keepsMore }) => (isSingle &&= !keepsMore))
  return isSingle
}

/**
 * Makes a decision of an error. A decision that the error carries counts before the retry policy. A policy that throws fails the task, unless its error
 * carries a decision for this task.
 *
 * @param draw the chance by which the policy's jitter chooses
 */
export function failed(task: HeldTask, error: unknown, retry: RetryPolicy | undefined, draw?: number): TaskDecision {
  const carried = carriedDecision(error)
  if (carried) return carried
  // Without a word, the task would look like one whose process has died.
  const why = error === undefined || error === null || error === '' ? `The handler has thrown ${JSON.stringify(error)}` : error
  try {
    const afterMs = retry?.(task, error, draw)
    const decision = afterMs === undefined ? TaskDecision.failure(why) : TaskDecision.retry({ afterMs }, why)
    if (isTimeout(error)) return decision.because('timeout')
    // If the policy would retry a first try, the task has no tries left.
    const isExhausted = afterMs === undefined && task.tries > 1 && retry?.({ ...task, tries: 1 }, error) !== undefined
    return isExhausted ? decision.because('tries') : decision
  } catch (policyError) {
    return carriedDecision(policyError) ?? TaskDecision.failure(why).include(policyError)
  }
}

/** Looks for TASK_TIMEOUT in the chain of causes, as an aborted call may wrap the reason. */
function isTimeout(error: unknown): boolean {
  const seen = new Set<unknown>()
  try {
    for (let one = error; one instanceof Error && !seen.has(one); one = one.cause) {
      if (isTaskError(one, 'TASK_TIMEOUT')) return true
      seen.add(one)
    }
  } catch {
    // The code of a thrown value may throw. Such a value is no time-out.
  }
  return false
}
