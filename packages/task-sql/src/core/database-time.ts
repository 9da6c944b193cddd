import type { Dialect } from './dialect.ts'
import { sql } from './statement.ts'
import type { Verb } from './verb.ts'

/** The time by the database's clock, in epoch milliseconds. */
export function* databaseTime({ expr, examination }: Dialect, now: number | null): Verb<number> {
  const [row] = yield sql`select ${expr.epochMs(expr.now(now))} as now ${examination.oneRow}`
  return Number(row?.['now'])
}
