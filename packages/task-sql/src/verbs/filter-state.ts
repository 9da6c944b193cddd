/** What tasks are asked for and counted by, as rows `t` have it: a due time tells what is delayed from what is suspended. */
import { filterStates, stateNumber } from '@taskstream/task-api'
import type { FilterState } from '@taskstream/task-api'
import { raw } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { toNumber } from '../core/task-row.ts'

/** True for a row `t` in this state. */
export function isIn(state: FilterState): Statement {
  return raw(text(state))
}

/** True for a row `t` in one of these states. Said so that the planner does not take them to be few, and rather sorts than reads in order. */
export function isInOneOf(states: readonly FilterState[]): Statement {
  return raw(states.length === 0 ? '1 = 0' : `case when ${states.map(text).join(' or ')} then 1 else 0 end > 0`)
}

/** The state of a row `t` as a number, for `toFilterState`. */
export const filterStateNumber: Statement = raw(
  `case when ${text('delayed')} then ${filterStates.indexOf('delayed')} else t.state end`,
)

export function toFilterState(number: unknown): FilterState {
  return filterStates[toNumber(number)]!
}

function text(state: FilterState): string {
  if (state === 'delayed') return '(t.state = 4 and t.due is not null)'
  if (state === 'suspended') return '(t.state = 4 and t.due is null)'
  // A number of our own, never what a caller wrote.
  return `t.state = ${stateNumber(state)}`
}
