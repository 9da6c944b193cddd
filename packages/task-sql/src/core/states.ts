/**
 * Numbers of states, reasons, outcomes and blocking classes, by their names. task-api explains the first three. All numbers are stored
 * and never change. Ranges of states have a meaning too: states up to `ready` are open, and states from `failed` to `succeeded` have
 * a result.
 */
import { attemptOutcomes, taskReasons, taskStates } from '@taskstream/task-api'
import type { AttemptOutcome, TaskReason, TaskState } from '@taskstream/task-api'
import { raw } from './statement.ts'
import type { Statement } from './statement.ts'

type Numbers<Name extends string> = Readonly<Record<Name, number>>
type Constants<Name extends string> = Readonly<Record<Name, Statement>>

/** Numbers in the columns `state` and `descent`, to be sent as values. */
export const stateNumbers: Numbers<TaskState> = numbersOf(taskStates)
/** The same numbers for the text of statements. The planner sees a number in the text, and can use a partial index for it. */
export const states: Constants<TaskState> = inSql(stateNumbers)

/** Numbers in the column `reason`, to be sent as values. */
export const reasonNumbers: Numbers<TaskReason> = numbersOf(taskReasons)
/** The same numbers for the text of statements. */
export const reasons: Constants<TaskReason> = inSql(reasonNumbers)

/** Numbers in the column `outcome` of an attempt, for the text of statements. */
export const outcomes: Constants<AttemptOutcome> = inSql(numbersOf(attemptOutcomes))

/**
 * Blocking classes say what a task's state means for other tasks of its identifier, in a topic with a condition: `active` to `ended`. In a topic of the
 * order `shared` ready rows are `high` or `low`, and the others `aside`. In other keyed topics all rows are `unstaged`; in a topic that is not keyed the
 * column `stage` is null. These numbers are sent as values.
 */
export const blockingClasses = {
  active: 0,
  open: 1,
  failed: 2,
  suspended: 3,
  ended: 4,
  high: 5,
  low: 6,
  aside: 7,
  unstaged: 9,
} as const
/** The same numbers for the text of statements: the column `stage` has them. */
export const stages: Constants<keyof typeof blockingClasses> = inSql(blockingClasses)

export type BlockingClass = Exclude<keyof typeof blockingClasses, 'high' | 'low' | 'aside' | 'unstaged'>

/** The blocking class of each state. There is one exception: a suspended task with a due time is `open`, as it becomes ready by itself. */
export const blockingClassOf: Readonly<Record<TaskState, BlockingClass>> = {
  active: 'active',
  ready: 'open',
  expired: 'failed',
  failed: 'failed',
  suspended: 'suspended',
  filtered: 'ended',
  succeeded: 'ended',
  recreated: 'ended',
  redundant: 'ended',
}

function numbersOf<Name extends string>(names: readonly Name[]): Numbers<Name> {
  return Object.fromEntries(names.map((name, number) => [name, number])) as Numbers<Name>
}

function inSql<Name extends string>(numbers: Numbers<Name>): Constants<Name> {
  return Object.fromEntries(Object.entries(numbers).map(([name, number]) => [name, raw(String(number))])) as Constants<Name>
}
