import { states } from '../../core/states.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { SqlValue, Statement } from '../../core/statement.ts'
import type { PostgresTables } from './tables.ts'

/**
 * Ready, said so that the planner takes half of all rows to be: it then reads the index in order, and stops when it has enough.
 * Told the truth, that hardly any row is, it would rather collect and sort a whole backlog.
 */
export const ready: Statement = sql`coalesce(t.state = ${states.ready}, false)`

/**
 * The rows `t` of a topic, from a sequence on (exclusive), said so that the planner takes them to be many even if the table was never
 * analysed: by equality it guesses at a two-hundredth of the table, and rather collects and sorts that than read the index in order.
 * Goes with `order by t.topic, …`. A partition is only found by equality.
 */
export function inTopic(
  { partitioned }: PostgresTables,
  topic: SqlValue | Statement,
  after: SqlValue | Statement = raw('0'),
  before?: SqlValue | Statement,
): Statement {
  if (partitioned)
    return sql`t.topic = ${topic} and t.sequence > ${after}${before === undefined ? nothing : sql` and t.sequence < ${before}`}`
  const upper = before === undefined ? sql`t.topic <= ${topic}` : sql`(t.topic, t.sequence) < (${topic}, ${before})`
  return sql`(t.topic, t.sequence) > (${topic}, ${after}) and ${upper}`
}
