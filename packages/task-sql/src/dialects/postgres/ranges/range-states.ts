import { states } from '../../../core/states.ts'
import { raw, sql } from '../../../core/statement.ts'
import type { Statement } from '../../../core/statement.ts'
import { outcomesOrdering } from '../../../core/topic-mode.ts'
import type { PostgresTables } from '../tables.ts'

/** The states of ranges. An ended one only says that its numbers were taken. A missing one is a block of numbers that nobody has seen yet. */
export const rangeStates: Readonly<Record<'active' | 'ended' | 'missing', Statement>> = {
  active: raw('0'),
  ended: raw('6'),
  missing: raw('9'),
}

/** How many numbers a push draws at a time, as a power of two. Its rows become visible together, so that what is missing is a block. */
export const blockBits = 10
export const blockSize: number = 2 ** blockBits

/**
 * True for a row that was pushed ready and never taken as a row: it is in an active range, in a missing one, or above the frontier. What has been attempted before
 * and is ready was made so by hand.
 */
export const isFresh = (alias: string): Statement =>
  sql`${raw(alias)}.state = ${states.ready} and not ${raw(alias)}.listed and ${raw(alias)}.attempt = 0`

export const fresh: Statement = isFresh('t')

/** The number of a topic's last range, behind which everything is fresh. */
export function frontierOf({ range }: PostgresTables, topic: Statement): Statement {
  // Without a default a topic whose ranges somebody has deleted would stand still.
  return sql`coalesce((select r.hi from ${range} r where r.topic = ${topic} order by r.topic desc, r.lo desc limit 1), ${raw(String(blockSize - 1))})`
}

/** True for the row `p` of a topic that keeps outcomes. */
export const keepsOutcomes: Statement = raw(`p.ordering = ${outcomesOrdering}`)

/**
 * True if the mark of a range is a transaction of this server. One that was restored from another's copy may be far ahead of all that were committed here, so
 * that its block would be waited for.
 */
export function isOfThisServer(alias: string): Statement {
  return raw(`${alias}.mark < pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())`)
}
