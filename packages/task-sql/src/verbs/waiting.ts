/** What waits in a topic: the next due task, and tasks that others block. Columns of a statement about the topic's row, and how they are read. */
import { blockedUntil, blockedUntilMs } from '../core/blocked.ts'
import type { Dialect } from '../core/dialect.ts'
import { states } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { toNumber } from '../core/task-row.ts'
import type { Row } from '../core/verb.ts'

export interface Waiting {
  /** In how many milliseconds the next task is due, 0 if it is due already. Infinite if none waits. */
  readonly dueMs: number
  /** Whether tasks wait for others. */
  readonly blocked: boolean
}

/** A row that somebody has changed by hand may have kept its due time, and must not hide those that wait. */
export function waitingColumns({ expr, paths, tables }: Dialect, topic: Statement, clock: number | null): Statement {
  return sql`(select ${expr.epochMs(raw('t.due'))}
              from ${paths.byDue(topic, sql`t.state = ${states.suspended}`)}
             ${expr.limit(raw('1'))}) as due,
           (select 1
              from ${tables.task} t
             where t.topic = ${topic} and t.due = ${blockedUntil(expr)}
             ${expr.limit(raw('1'))}) as blocked,
           ${expr.epochMs(expr.now(clock))} as now`
}

export function waitingOf(row: Row): Waiting {
  const due = row['due'] === null ? blockedUntilMs : toNumber(row['due'])
  return {
    dueMs: due === blockedUntilMs ? Infinity : Math.max(0, due - toNumber(row['now'])),
    blocked: row['blocked'] !== null,
  }
}
