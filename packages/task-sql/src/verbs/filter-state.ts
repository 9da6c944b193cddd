/** States by which tasks are filtered and counted, as conditions on rows `t`. Delayed tasks are stored as suspended ones with a due time. */
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

/**
 * True for a row `t` in one of these states. The `case` hides the states from the planner, which would otherwise expect few rows
 * and sort them instead of reading an index in order.
 */
export function isInOneOf(asked: readonly FilterState[]): Statement {
  // mutants: equivalent sql-number, any number above 0
  return asked.length === 0 ? raw('1 = 0') : sql`case when ${join(asked.map(isIn), ' or ')} then 1 else 0 end > 0`
}

/** The state of a row `t` as a number, for `toFilterState`. */
export const filterStateNumber: Statement = sql`case when ${isIn('delayed')} then ${raw(String(filterStates.indexOf('delayed')))} else t.state end`

export function toFilterState(number: unknown): FilterState {
  return filterStates[toNumber(number)]!
}
