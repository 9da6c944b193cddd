/** Ranges, as verbs see them: what they hold, and how that becomes rows again. */
import type { Plans, Ranges } from '../../../core/dialect.ts'
import { states } from '../../../core/states.ts'
import { nothing, raw, sql } from '../../../core/statement.ts'
import type { Statement } from '../../../core/statement.ts'
import { toNumber } from '../../../core/task-row.ts'
import type { Verb } from '../../../core/verb.ts'
import { isolationUnsupported } from '../lock-stripes.ts'
import type { PostgresTables } from '../tables.ts'
import { inTopic } from '../topic.ts'
import { arrayLiteral } from '../values.ts'
import { claimRanges } from './claim-ranges.ts'
import { fresh, isOfThisServer, keepsOutcomes, rangeStates } from './range-states.ts'
import { cutLock } from './take-function.ts'

/** How many ranges one expiry makes rows of at most. */
const mostSpilled = 1_000

export function postgresRanges(tables: PostgresTables, plans: Plans, record: Note): Ranges {
  const { task, topic: topics, range } = tables
  // Of most topics no row is looked up: the list of those that keep outcomes is made once in a statement, and is empty.
  const mayBeHeld = sql`${fresh} and t.topic = any (array(select p.topic from ${topics} p where ${keepsOutcomes}))`
  // Active ranges do not overlap, so that the nearest one below is the only one that may cover a row, however many there are.
  const ofRange = (column: string): Statement => sql`
    (select case when r.hi >= t.sequence then ${raw(column)} end
       from ${range} r
      where r.topic = t.topic and r.state = ${rangeStates.active} and r.lo <= t.sequence
      order by r.topic desc, r.lo desc
      limit 1)`
  return {
    claim: claimRanges(tables, plans),
    keepsOutcomes,
    merge: () => mergeRanges(tables),
    isHeld: sql`(${mayBeHeld} and ${ofRange('1')} is not null)`,
    sharesNumbers: sql`t.topic <> all (array(select p.topic from ${topics} p where ${keepsOutcomes}))`,
    owner: sql`case when ${mayBeHeld} then ${ofRange('r.owner')} end`,
    leased: sql`case when ${mayBeHeld} then ${ofRange('r.leased')} end`,
    heldBy: (condition, limit) => sql`
      select t.topic, t.sequence, r.owner
        from ${range} r,
             lateral (select t.topic, t.sequence
                        from ${task} t
                       where ${inTopic(tables, raw('r.topic'), raw('(r.lo - 1)'), raw('(r.hi + 1)'))} and ${fresh}
                       order by t.topic, t.sequence
                       limit ${limit}::int8) t
       where r.state = ${rangeStates.active} and ${condition(raw('r.owner'))}
       limit ${limit}::int8`,
    lockFresh: function* (topic) {
      const [row] = yield sql`
        select pg_catalog.pg_advisory_xact_lock(${cutLock(tables, raw('p.topic'))})::text as locked, pg_catalog.current_setting('transaction_isolation') as isolation
          from ${topics} p
         where p.topic = ${topic} and ${keepsOutcomes}`
      if (row && row['isolation'] !== 'read committed') throw isolationUnsupported(topic, String(row['isolation']))
    },
    spill: function* (condition, limit, only) {
      let left = limit
      const ranges = yield sql`
        select r.topic, r.lo, r.hi, r.owner
          from ${range} r
         where r.state = ${rangeStates.active} and ${condition(raw('r.owner'))}${only ? sql` and r.topic = ${only.topic}` : nothing}
         order by r.topic, r.lo
         limit ${mostSpilled}::int8
           for update skip locked`
      for (const row of ranges) {
        const [topic, owner, lo, hi] = [String(row['topic']), String(row['owner']), toNumber(row['lo']), toNumber(row['hi'])]
        left -= yield* spillOne(topic, owner, lo, hi, left, only?.kept)
        if (left <= 0) break
      }
    },
    // No poll cuts meanwhile, as it would meet locked rows. A topic of which somebody has the lock is left to the next time.
    note: () => sql`
      with unmarked as materialized (
        select distinct r.topic
          from ${range} r
         where r.state = ${rangeStates.missing} and ${isOfThisServer('r')} is not true
           and (select pg_catalog.pg_current_xact_id_if_assigned() is null)),
      locked as materialized (
        select u.topic from unmarked u where pg_catalog.pg_try_advisory_xact_lock(${cutLock(tables, raw('u.topic'))}))
      update ${range} r
         set mark = pg_catalog.pg_current_xact_id()
        from locked k
       where r.topic = k.topic and r.state = ${rangeStates.missing} and ${isOfThisServer('r')} is not true`,
  }

  /**
   * Makes active rows of what a range still holds, up to a limit, and ends the range if nothing is left of it. What is being completed at this moment is left.
   *
   * @returns how many rows
   */
  function* spillOne(
    topic: string,
    owner: string,
    lo: number,
    hi: number,
    limit: number,
    kept?: ReadonlySet<number>,
  ): Verb<number> {
    const held = sql`${inTopic(tables, topic, sql`${lo - 1}`, sql`${hi + 1}`)} and ${fresh}`
    const found = yield sql`
      select t.sequence
        from ${task} t
       where ${held}${kept ? sql` and t.sequence <> all ((select ${arrayLiteral([...kept])}::int8[])::int8[])` : nothing}
       order by t.topic, t.sequence
       limit ${limit}::int8
         for update skip locked`
    const sequences = found.map(({ sequence }) => toNumber(sequence))
    if (sequences.length > 0) {
      yield sql`
        update ${task} t
           set state = ${states.active}, listed = true, reason = null, owner = r.owner, attempt = t.attempt + 1, tries = t.tries + 1, started = r.leased
          from ${range} r
         where r.topic = ${topic} and r.lo = ${lo}::int8
           and t.topic = ${topic} and t.sequence = any ((select ${arrayLiteral(sequences)}::int8[])::int8[]) and ${fresh}`
      yield* record(topic, owner, sequences)
    }
    yield sql`
      update ${range} r
         set state = ${rangeStates.ended}, owner = null
       where r.topic = ${topic} and r.lo = ${lo}::int8 and not exists (select from ${task} t where ${held})`
    return sequences.length
  }
}

type Note = (topic: string, owner: string, sequences: readonly number[]) => Verb<void>

/** How many ranges one expiry looks at in each topic, to merge those that have ended. */
const looked = 2_000

/** Makes one of ended ranges that lie side by side. One that is held, missing or locked by another stands between, and nothing is merged across it. */
function* mergeRanges({ topic: topics, range }: PostgresTables): Verb<void> {
  const found = yield sql`select p.topic from ${topics} p where ${keepsOutcomes}`
  for (const row of found) {
    const topic = String(row['topic'])
    yield sql`
      with seen as materialized (
        select r.lo, r.hi
          from ${range} r
         where r.topic = ${topic} and r.state = ${rangeStates.ended}
         order by r.topic, r.lo
         limit ${looked}::int8
           for update skip locked),
      beside as (select s.*, pg_catalog.lag(s.hi) over (order by s.lo) as before from seen s),
      runs as (select b.*, count(*) filter (where b.before is distinct from b.lo - 1) over (order by b.lo) as run from beside b),
      merged as materialized (select min(lo) as lo, max(hi) as hi from runs group by run having count(*) > 1),
      gone as (
        delete from ${range} r
         using runs m, merged k
         where r.topic = ${topic} and r.lo = m.lo and m.lo > k.lo and m.hi <= k.hi)
      update ${range} r set hi = k.hi, given = 0 from merged k where r.topic = ${topic} and r.lo = k.lo`
  }
}
