/**
 * A blocked task waits for others. It is stored as a delayed one whose time never comes: so each verb treats it as a task that becomes ready by itself,
 * and the index of due times finds those of a topic.
 */
import type { Expressions } from './dialect.ts'
import { states } from './states.ts'
import { raw, sql } from './statement.ts'
import type { Statement } from './statement.ts'

/** The due time of blocked tasks, in epoch milliseconds: the last second of the year 9999. Every database can show it as a date. */
export const blockedUntilMs: number = Date.UTC(9999, 11, 31, 23, 59, 59)

/** A due time that is given, in epoch milliseconds. One of that last second, which people write for never, comes just before it. */
export function dueMsOf(due: Date): number {
  return Math.min(due.getTime(), blockedUntilMs - 1)
}

/** The due time of blocked tasks, as the time columns store it. */
export function blockedUntil({ instant }: Pick<Expressions, 'instant'>): Statement {
  return instant(raw(String(blockedUntilMs)))
}

/** True for a row `t` that is not blocked. */
export function isFree(expr: Pick<Expressions, 'instant'>): Statement {
  return sql`(t.state <> ${states.suspended} or t.due is null or t.due <> ${blockedUntil(expr)})`
}

/** True for a blocked row `t`. */
export function isBlocked(expr: Pick<Expressions, 'instant'>): Statement {
  return sql`(t.state = ${states.suspended} and t.due = ${blockedUntil(expr)})`
}
