/** Every state. A database stores its position, so the positions never change. Some statements select ranges of them. */
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
 * The state of a task.
 *
 * - `active`: an owner holds the task
 * - `ready`: the task may be polled
 * - `expired`: the owner of the task died, and nobody has revived the task
 * - `failed`, `suspended`, `filtered`, `succeeded`: the task was completed with this result. A task that waits for its `due` time is `suspended`
 *   too; filters and counts call it `delayed`
 * - `recreated`: a new task was made from this one
 * - `redundant`: a later push superseded or replaced the task
 */
export type TaskState = (typeof taskStates)[number]

/** Every result, from the weightiest to the lightest. The state number of a result is its position here plus 3. */
export const taskResults = ['failure', 'suspension', 'filter', 'success'] as const

/** The result of a decision. Where results are merged, failure outweighs suspension, suspension outweighs filter, and filter outweighs success. */
export type TaskResult = (typeof taskResults)[number]

const stateOfResult = { failure: 'failed', suspension: 'suspended', filter: 'filtered', success: 'succeeded' } as const

/** The number by which a state is stored, 0 (`active`) to 8 (`redundant`). */
export function stateNumber(state: TaskState): number {
  return taskStates.indexOf(state)
}

/** The state to which a result leads: `stateOf('failure') === 'failed'`. */
export function stateOf(result: TaskResult): TaskState {
  return stateOfResult[result]
}

/** Whether a task in this state carries a result: `failed`, `suspended`, `filtered` or `succeeded`. */
export function isCompleted(state: TaskState): boolean {
  const number = stateNumber(state)
  return number >= 3 && number <= 6
}

/** The weightier of two results: `mergeResults('success', 'filter') === 'filter'`. */
export function mergeResults(left: TaskResult, right: TaskResult): TaskResult {
  // mutants: equivalent boundary, if both results are the same, either can be returned
  return taskResults.indexOf(left) <= taskResults.indexOf(right) ? left : right
}

/** Every reason. A database stores its position, so new ones are only appended. */
export const taskReasons = ['deadline', 'tries', 'terminated', 'unreachable', 'cancelled', 'timeout', 'lease', 'dropped'] as const

/**
 * Why a task is in its state, where the result alone does not say so.
 *
 * - `tries`: the task failed, because it had no tries left, of its own or of the topic's retry policy
 * - `lease`: the task expired or became ready again, because the heartbeat of its owner stopped. The next poll clears the reason
 * - `deadline`: the task was filtered, because it was polled after its deadline
 * - `timeout`: the task failed or is to be retried, because its handler took longer than the topic's `timeoutMs`
 * - `cancelled`: nobody wants the task any more: `cancel` has ended it
 * - `terminated`: somebody ended the task
 * - `unreachable`: something on which the task depends did not succeed
 * - `dropped`: newer tasks needed its place in a topic with `maxEntries`
 *
 * Handlers give any of them, most often `terminated`, with `TaskDecision.because`.
 */
export type TaskReason = (typeof taskReasons)[number]
