/** Every state, at the position of the number it is stored as. The numbers are persisted and never change; ranges of them mean something. */
export const taskStates = [
  'active',
  'ready',
  'expired',
  'failed',
  'suspended',
  'filtered',
  'succeeded',
  'recreated',
  'redundant',
] as const

/**
 * Where a task stands.
 *
 * - `active`: held by an owner
 * - `ready`: may be polled
 * - `expired`: its owner died, and nobody has taken it up again
 * - `failed`, `suspended`, `filtered`, `succeeded`: completed with that result. A task that waits for its `due` time is `suspended` too:
 *   filters and counts call it `delayed`
 * - `recreated`: a newer row was made from this one
 * - `redundant`: superseded or replaced
 */
export type TaskState = (typeof taskStates)[number]

/** Every result, by merge priority: the first of two wins. A result's state number is its position here plus 3. */
export const taskResults = ['failure', 'suspension', 'filter', 'success'] as const

/** What a handler decided. Failure outweighs suspension, then filter, then success, wherever results meet. */
export type TaskResult = (typeof taskResults)[number]

const stateOfResult = { failure: 'failed', suspension: 'suspended', filter: 'filtered', success: 'succeeded' } as const

/** The number a state is stored as, 0 (`active`) to 8 (`redundant`). */
export function stateNumber(state: TaskState): number {
  return taskStates.indexOf(state)
}

/** The state a result leads to: `stateOf('failure') === 'failed'`. */
export function stateOf(result: TaskResult): TaskState {
  return stateOfResult[result]
}

/** Whether a task in this state carries a result: `failed`, `suspended`, `filtered` or `succeeded`. */
export function isCompleted(state: TaskState): boolean {
  const number = stateNumber(state)
  return number >= 3 && number <= 6
}

/** The result that outweighs the other: `mergeResults('success', 'filter') === 'filter'`. */
export function mergeResults(left: TaskResult, right: TaskResult): TaskResult {
  // mutants: equivalent boundary, of two that are the same either outweighs the other
  return taskResults.indexOf(left) <= taskResults.indexOf(right) ? left : right
}

/** Why a task is in its state, at the position of the number it is stored as. Persisted: only ever appended to. */
export const taskReasons = ['deadline', 'tries', 'terminated', 'unreachable', 'cancelled', 'timeout', 'lease'] as const

/**
 * Why a task is in its state, where the result alone does not say.
 *
 * - `tries`: failed because no tries were left, of the task's own or of the topic's policy
 * - `lease`: expired, or ready again, because its owner stopped beating. Gone as soon as the task is polled again
 * - `deadline`: filtered, because it was polled after its deadline
 * - `timeout`: failed, or to be retried, because its handler took longer than the topic's `timeoutMs`
 * - `cancelled`, `terminated`, `unreachable`: nobody wants it any more, somebody has ended it, what it depends on did not succeed. Given by
 *   handlers, with `TaskDecision.because`
 */
export type TaskReason = (typeof taskReasons)[number]
