import { checkInstant, checkInteger, checkStorable, invalid, taskLimits } from './task-limits.ts'
import { taskReasons, taskStates } from './task-state.ts'
import type { TaskReason, TaskState } from './task-state.ts'

/**
 * A state as filters and counts know it: a `TaskState`, `delayed` or `blocked`. Three of them are stored as suspended:
 *
 * - `delayed`: the task becomes ready by itself at its `due` time. It was pushed with `due` or `delayMs`, or waits for a retry
 * - `blocked`: the task becomes ready by itself when the tasks that it needs have succeeded (`depend`)
 * - `suspended`: the task is set aside until somebody revives it. Delayed and blocked tasks are not included
 */
export type FilterState = TaskState | 'delayed' | 'blocked'

/** Every value of `FilterState`. */
export const filterStates: readonly FilterState[] = [...taskStates, 'delayed', 'blocked']

/** Selects tasks of a topic: those that meet every condition that is given. */
export interface TaskFilter {
  /** Only tasks in one of these states; an empty list matches no task. Default: every state, unless the verb says otherwise. */
  readonly states?: readonly FilterState[]
  readonly identifier?: string
  readonly reference?: string
  readonly reason?: TaskReason
  /** The first sequence, inclusive. */
  readonly from?: number
  /** The last sequence, inclusive. */
  readonly to?: number
  /** Pushed at or after this instant. */
  readonly createdFrom?: Date
  /** Pushed before this instant. */
  readonly createdBefore?: Date
  /** Completed at or after this instant. */
  readonly completedFrom?: Date
  /** Completed before this instant. */
  readonly completedBefore?: Date
  /** Completed before this instant, or pushed before it if the task was never completed. It leaves out what has changed since a preview. */
  readonly changedBefore?: Date
}

/** Checks a filter. @throws TaskError ARGUMENT_INVALID, naming the field that is wrong */
export function checkFilter(filter: TaskFilter): void {
  const { states, reason, identifier, reference, from = 0, to = Number.MAX_SAFE_INTEGER } = filter
  if (states !== undefined) {
    if (!Array.isArray(states)) throw invalid('states', states, 'must be an array')
    for (const state of states) checkState('states', state)
  }
  if (reason !== undefined && !taskReasons.includes(reason))
    throw invalid('reason', reason, `must be one of ${taskReasons.join(', ')}`)
  if (identifier !== undefined) checkStorable('identifier', identifier, taskLimits.identifierLength)
  if (reference !== undefined) checkStorable('reference', reference, taskLimits.referenceLength)
  checkInteger('from', from, 0, Number.MAX_SAFE_INTEGER)
  checkInteger('to', to, 0, Number.MAX_SAFE_INTEGER)
  if (from > to) throw invalid('from', from, `must not be after to, which is ${to}`)
  if (filter.changedBefore !== undefined) checkInstant('changedBefore', filter.changedBefore)
  checkSpan(filter, 'createdFrom', 'createdBefore')
  checkSpan(filter, 'completedFrom', 'completedBefore')
}

/** Checks a state of a filter. @throws TaskError ARGUMENT_INVALID unless `state` is a `FilterState` */
export function checkState(argument: string, state: unknown): asserts state is FilterState {
  if (!filterStates.includes(state as FilterState)) throw invalid(argument, state, `must be one of ${filterStates.join(', ')}`)
}

function checkSpan<Key extends 'createdFrom' | 'createdBefore' | 'completedFrom' | 'completedBefore'>(
  filter: TaskFilter,
  fromKey: Key,
  beforeKey: Key,
): void {
  const from = filter[fromKey]
  const before = filter[beforeKey]
  if (from !== undefined) checkInstant(fromKey, from)
  if (before !== undefined) checkInstant(beforeKey, before)
  // mutants: equivalent logic `from !== undefined && before !== undefined`, nothing is after undefined
  if (from !== undefined && before !== undefined && from > before)
    throw invalid(fromKey, from.toISOString(), `must not be after ${beforeKey}, which is ${before.toISOString()}`)
}
