import { states } from '../../core/states.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { SqlValue, Statement } from '../../core/statement.ts'
import type { PostgresTables } from './tables.ts'

/**
 * True for a ready row. Because of `coalesce`, the planner assumes that half of all rows are ready: it reads the index in order, and stops
 * when it has enough rows. If it knew that few rows are ready, it would collect and sort the whole backlog.
 */
export const ready: Statement = sql`coalesce(t.state = ${states.ready}, false)`

/**
 * A condition for the rows `t` of a topic between two sequences (exclusive); use it with `order by t.topic, …`. The topic is compared as a
 * range, because the planner then expects many rows even if the table was never analysed. By equality it would expect a two-hundredth of
 * the table, and sort those rows instead of reading the index in order. A partitioned table needs equality to find the partition.
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
