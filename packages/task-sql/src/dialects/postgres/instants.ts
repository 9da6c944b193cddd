/** Instants as columns store them, and as numbers. */
import { sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

export function instant(epochMs: Statement): Statement {
  return sql`pg_catalog.to_timestamp(${epochMs}::float8 / 1000)`
}

/** Whole milliseconds. */
export function epochMs(column: Statement): Statement {
  return sql`pg_catalog.trunc(extract(epoch from ${withinDates(column)}) * 1000)::int8`
}

/**
 * Bounds an instant by dates. Somebody may have written `infinity` by hand, which is no number: it must not keep the other tasks of its topic from being
 * read. The upper bound is later than the due time of blocked tasks. The functions are those of the aggregates `min` and `max`, because `least` and
 * `greatest` pass over null.
 */
function withinDates(instant: Statement): Statement {
  return sql`pg_catalog.timestamptz_smaller(pg_catalog.timestamptz_larger(${instant}, timestamptz '0001-01-01Z'), timestamptz '10000-01-01Z')`
}
