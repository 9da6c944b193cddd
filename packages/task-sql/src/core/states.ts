/**
 * Numbers of states, reasons and blocking classes, by their names; task-api says what states and reasons mean. All of them are persisted, and
 * never change. Ranges of states mean something too: those up to `ready` are open, those from `failed` to `succeeded` have a result.
 */
import { taskReasons, taskStates } from '@taskstream/task-api'
import type { TaskReason, TaskState } from '@taskstream/task-api'
import { raw } from './statement.ts'
import type { Statement } from './statement.ts'

type Numbers<Name extends string> = Readonly<Record<Name, number>>
type Constants<Name extends string> = Readonly<Record<Name, Statement>>

/** What the columns `state` and `descent` hold, for values. */
export const stateNumbers: Numbers<TaskState> = numbersOf(taskStates)
/** The same for the text of statements: a constant there is part of the plan. */
export const states: Constants<TaskState> = inSql(stateNumbers)

/** What the column `reason` holds, for values. */
export const reasonNumbers: Numbers<TaskReason> = numbersOf(taskReasons)
/** The same for the text of statements. */
export const reasons: Constants<TaskReason> = inSql(reasonNumbers)

/**
 * What a task's state means for others of its identifier, for values. A topic that is keyed but has no condition has `unstaged` for all rows;
 * topics that are not keyed have none.
 */
export const blockingClasses = { active: 0, open: 1, failed: 2, suspended: 3, ended: 4, unstaged: 9 } as const
/** The same for the text of statements: what the column `stage` holds. */
export const stages: Constants<keyof typeof blockingClasses> = inSql(blockingClasses)

export type BlockingClass = Exclude<keyof typeof blockingClasses, 'unstaged'>

/** The blocking class of each state. A suspended task with a due time is `open`: it waits to be tried again. */
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
