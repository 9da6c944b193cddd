import { checkFilter } from '@taskstream/task-api'
import type { TaskFilter } from '@taskstream/task-api'
import type { Dialect } from '../core/dialect.ts'
import { reasonNumbers } from '../core/states.ts'
import { join, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { isInOneOf } from './filter-state.ts'

/** The conditions of a filter on a row `t`. Each begins with ` and `, so they follow another condition. @throws TaskError ARGUMENT_INVALID */
export function meets(dialect: Dialect, filter: TaskFilter): Statement {
  checkFilter(filter)
  const { states, identifier, reference, reason, from, to } = filter
  const { createdFrom, createdBefore, completedFrom, completedBefore, changedBefore } = filter
  const instant = (date: Date): Statement => dialect.expr.instant(sql`${date.getTime()}`)
  const conditions = [
    // A list may be long, and has few states.
    states && isInOneOf(dialect, [...new Set(states)]),
    identifier !== undefined && sql`t.identifier = ${identifier}`,
    reference !== undefined && sql`t.reference = ${reference}`,
    reason !== undefined && sql`t.reason = ${reasonNumbers[reason]}`,
    from !== undefined && sql`t.sequence >= ${from}`,
    to !== undefined && sql`t.sequence <= ${to}`,
    createdFrom && sql`t.created >= ${instant(createdFrom)}`,
    createdBefore && sql`t.created < ${instant(createdBefore)}`,
    completedFrom && sql`t.completed >= ${instant(completedFrom)}`,
    completedBefore && sql`t.completed < ${instant(completedBefore)}`,
    changedBefore && sql`coalesce(t.completed, t.created) < ${instant(changedBefore)}`,
  ]
  return join(
    conditions.filter((condition) => typeof condition === 'object').map((condition) => sql` and ${condition}`),
    '',
  )
}

/** The rows of a topic from one sequence to another, both included. */
// mutants: equivalent number, sequences begin at 1
export function inRange(dialect: Dialect, topic: string, from = 0, to?: number): Statement {
  // mutants: equivalent equality condition:true, the filter asks for the same range
  const before = to === undefined || to === Number.MAX_SAFE_INTEGER ? undefined : to + 1
  return dialect.paths.inTopic(topic, from - 1, before)
}
