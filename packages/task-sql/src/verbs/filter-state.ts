/** What tasks are asked for and counted by, as rows `t` have it: a due time tells what is delayed from what is suspended. */
import { filterStates } from '@taskstream/task-api'
import type { FilterState } from '@taskstream/task-api'
import { states } from '../core/states.ts'
import { join, raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { toNumber } from '../core/task-row.ts'

/** True for a row `t` in this state. */
export function isIn(state: FilterState): Statement {
  if (state === 'delayed') return sql`(t.state = ${states.suspended} and t.due is not null)`
  if (state === 'suspended') return sql`(t.state = ${states.suspended} and t.due is null)`
  return sql`t.state = ${states[state]}`
}

/** True for a row `t` in one of these states. Said so that the planner does not take them to be few, and rather sorts than reads in order. */
export function isInOneOf(asked: readonly FilterState[]): Statement {
  return asked.length === 0 ? raw('1 = 0') : sql`case when ${join(asked.map(isIn), ' or ')} then 1 else 0 end > 0`
}

/** The state of a row `t` as a number, for `toFilterState`. */
export const filterStateNumber: Statement = sql`case when ${isIn('delayed')} then ${raw(String(filterStates.indexOf('delayed')))} else t.state end`

export function toFilterState(number: unknown): FilterState {
  return filterStates[toNumber(number)]!
}
