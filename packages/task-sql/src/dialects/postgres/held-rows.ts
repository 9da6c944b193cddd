/** The tasks of a request that this owner still holds, inside a statement. */
import type { HeldRequest } from '../../core/requests.ts'
import { states } from '../../core/states.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { HeldRows } from '../shared/writes-returning.ts'
import { fresh, rangeStates } from './ranges/range-states.ts'
import { lockedHere } from './row-locks.ts'
import type { PostgresTables } from './tables.ts'
import { arrayLiteral, valueOf } from './values.ts'

const triesSoFar = raw('t.tries')
const triesWithThis = raw('(t.tries + 1)')

/**
 * Held rows. There is no join, because on a table that was never analysed the planner would read a whole topic instead of looking up a
 * thousand keys. A value that all tasks have in common is sent once. Other values are looked up by sequence in a JSON object.
 */
export function heldRows(request: HeldRequest): HeldRows {
  const { topic, owner, tasks, locked, now } = request
  const value = valueOf(request)
  return {
    updateFrom: nothing,
    selectFrom: nothing,
    where: sql`
           t.topic = ${topic}
       and t.sequence = any ((select ${arrayLiteral(tasks.map(({ sequence }) => sequence))}::int8[])::int8[])
       and ${
         locked
           ? sql`t.state = ${states.ready} and t.attempt = ${value('attempt')} - 1 and ${lockedHere}`
           : sql`t.state = ${states.active} and t.owner = ${owner} and t.attempt = ${value('attempt')}`
       }`,
    take: locked
      ? sql`, owner = ${owner}, attempt = t.attempt + 1,
           started = coalesce(pg_catalog.to_timestamp(${now}::float8 / 1000), pg_catalog.transaction_timestamp())`
      : nothing,
    tries: locked ? triesWithThis : triesSoFar,
    value,
  }
}

/**
 * Rows that ranges of this owner hold. No range is locked: whatever takes a row away from its range changes it, so that the row itself tells whether it is
 * still held.
 */
export function heldByRange(tables: PostgresTables, request: HeldRequest): HeldRows {
  const { topic, owner, tasks } = request
  const value = valueOf(request)
  const first = tasks[0]?.sequence ?? 0
  const last = tasks.at(-1)?.sequence ?? 0
  return {
    before: sql`
      with held as materialized (
        select r.lo, r.hi, r.leased
          from ${tables.range} r
         where r.topic = ${topic} and r.state = ${rangeStates.active} and r.owner = ${owner} and r.lo <= ${last}::int8
           and r.lo >= coalesce((
                 select b.lo
                   from ${tables.range} b
                  where b.topic = ${topic} and b.state = ${rangeStates.active} and b.lo <= ${first}::int8
                  order by b.topic desc, b.lo desc
                  limit 1), 0)
         order by r.topic, r.lo) `,
    updateFrom: raw('from held h'),
    selectFrom: raw(', held h'),
    where: sql`
           t.topic = ${topic}
       and t.sequence = any ((select ${arrayLiteral(tasks.map(({ sequence }) => sequence))}::int8[])::int8[])
       and t.sequence between h.lo and h.hi
       and ${fresh} and t.attempt = ${value('attempt')} - 1`,
    take: sql`, owner = ${owner}, attempt = t.attempt + 1, started = h.leased`,
    tries: triesWithThis,
    value,
  }
}
