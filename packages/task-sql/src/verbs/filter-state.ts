/** States by which tasks are filtered and counted, as conditions on rows `t`. Delayed and blocked tasks are stored as suspended ones with a due time. */
import { filterStates } from '@taskstream/task-api'
import type { FilterState } from '@taskstream/task-api'
import { blockedUntil, isBlocked } from '../core/blocked.ts'
import type { Dialect } from '../core/dialect.ts'
import { states } from '../core/states.ts'
import { join, nothing, raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { toNumber } from '../core/task-row.ts'

/** True for a row `t` in this state. */
export function isIn({ expr, ranges }: Pick<Dialect, 'expr' | 'ranges'>, state: FilterState): Statement {
  if (state === 'blocked') return isBlocked(expr)
  if (state === 'delayed') return sql`(t.state = ${states.suspended} and t.due < ${blockedUntil(expr)})`
  if (state === 'suspended') return sql`(t.state = ${states.suspended} and t.due is null)`
  if (ranges && state === 'ready') return sql`(t.state = ${states.ready} and not ${ranges.isHeld})`
  if (ranges && state === 'active') return sql`(t.state = ${states.active} or ${ranges.isHeld})`
  return sql`t.state = ${states[state]}`
}

/**
 * True for a row `t` in one of these states. The `case` hides the states from the planner, which would otherwise expect few rows
 * and sort them instead of reading an index in order.
 */
export function isInOneOf(dialect: Pick<Dialect, 'expr' | 'ranges'>, asked: readonly FilterState[]): Statement {
  // mutants: equivalent sql-number `then 1`, any number above 0
  return asked.length === 0
    ? raw('1 = 0')
    : sql`case when ${join(
        asked.map((state) => isIn(dialect, state)),
        ' or ',
      )} then 1 else 0 end > 0`
}

/** The state of a row `t` as a number, for `toFilterState`. */
export function filterStateNumber(dialect: Pick<Dialect, 'expr' | 'ranges'>): Statement {
  const number = (state: FilterState): Statement => raw(String(filterStates.indexOf(state)))
  return sql`case when ${isIn(dialect, 'delayed')} then ${number('delayed')}
                  when ${isIn(dialect, 'blocked')} then ${number('blocked')}${
                    dialect.ranges ? sql` when ${dialect.ranges.isHeld} then ${number('active')}` : nothing
                  } else t.state end`
}

export function toFilterState(number: unknown): FilterState {
  return filterStates[toNumber(number)]!
}
