/** C's statements. Every guard can be taken away by name, so that the hammer can show what each is for. */
import { endless } from './statements.ts'
import type { Statement } from './statements.ts'

export interface Guards {
  /** The pusher has its transaction id before its sequences. */
  readonly xidFirst: boolean
  /** What a bound must wait for: `mark` is right, the rest are tempting mistakes. */
  readonly settles: 'mark' | 'at once' | 'snapshot xmax' | 'bound of today'
  /** Only a transaction that has not written yet may move the floor. */
  readonly clean: boolean
  /** The floor stops before READY rows that somebody else has locked. */
  readonly stopsAtReady: boolean
  /** A row that becomes READY again is listed. */
  readonly lists: boolean
  /** Completion compares the attempt. */
  readonly fenced: boolean
  /** The ledger of chunks an owner has claimed from. */
  readonly ledger: 'kept' | 'none' | 'forgotten early'
  /** Memory from before a crash of the database is thrown away. */
  readonly epoch: boolean
}

export const allGuards: Guards = {
  xidFirst: true,
  settles: 'mark',
  clean: true,
  stopsAtReady: true,
  lists: true,
  fenced: true,
  ledger: 'kept',
  epoch: true,
}

const chunkBits = 13

/**
 * $1 topic, $2 size, $3 owner, $4 floor, $5 epoch; then pairs of a mark and a bound: $6 $7 settled, $8 $9 pending.
 *
 * `now` is evaluated before anything is locked, because every other part needs something from it; so the sequence is read
 * before this transaction has an id, and whoever drew a number up to `bound` has an id below `mark`. A pair is checked against
 * the snapshot of the very statement that uses it, even one known to be settled: at REPEATABLE READ the snapshot may be older.
 * What the statement learned comes as one more row, packed into the column of the input: a column costs in every row.
 */
export function pollStatement(name: string, guards: Guards, columns: 'all' | 'minimal'): Statement {
  const isSettled = (mark: string): string =>
    guards.settles === 'at once' ? `${mark}::xid8 is not null` : `low >= ${mark}::xid8`
  const bound = guards.settles === 'bound of today' ? 'bound + 0 * $9::bigint' : '$9::bigint'
  const settled = `greatest(case when ${isSettled('$6')} then $7::bigint end, case when ${isSettled('$8')} then ${bound} end)`
  const below = (limit: string): string =>
    guards.stopsAtReady
      ? `case when ${limit} is not null
                then least(${limit}, (select sequence - 1 from head)) end`
      : limit
  const mark = guards.settles === 'snapshot xmax' ? 'pg_snapshot_xmax(pg_current_snapshot())' : 'pg_current_xact_id()'
  const clean = guards.clean ? 'pg_current_xact_id_if_assigned() is null' : 'true'
  // A restart, a crash recovery and a failover all change one of the two.
  const epoch = guards.epoch
    ? `concat(extract(epoch from pg_postmaster_start_time()), ' ', extract(epoch from pg_stat_get_bgwriter_stat_reset_time()))`
    : `'always'`
  const ledger =
    guards.ledger === 'none'
      ? ''
      : `, held as (
      insert into task_holding (topic, owner, chunk)
      select $1, $3, chunk
        from (select min(sequence) as low, max(sequence) as high from claimed where not listed) as span,
             generate_series(span.low >> ${chunkBits}, span.high >> ${chunkBits}) as chunk
       where not exists (select from task_holding as h where h.topic = $1 and h.owner = $3 and h.chunk = chunk.chunk))`
  return {
    name: `${name} poll`,
    text: `
    with now as materialized (
      select ${clean} as clean,
             pg_snapshot_xmin(pg_current_snapshot()) as low,
             (select last_value from task_sequence) as bound,
             ${epoch} as epoch,
             (select floor from task_topic where topic = $1) as persisted,
             exists (select from task_owner where owner = $3) as registered),
    start as materialized (
      select *, clean and epoch = $5 as usable,
             greatest(persisted, case when epoch = $5 then $4::bigint end) as floor
        from now),
    head as materialized (
      select sequence from task
       where topic = $1 and state = 1 and not listed
         and sequence > (select floor from start) and sequence <= (select bound from start)
       order by sequence limit 1),
    cutoff as materialized (
      select max(sequence) as sequence from (
        select sequence from (
          (select sequence from task
            where topic = $1 and state = 1 and listed and sequence > 0 and sequence <= ${endless}
            order by sequence limit $2)
          union all
          (select sequence from task
            where topic = $1 and state = 1 and not listed
              and sequence >= (select sequence from head) and sequence <= (select bound from start)
            order by sequence limit $2)) as candidates
         order by sequence limit $2) as chosen
       where (select registered from start)
         and exists (select from task where topic = $1 and state = 1 and listed)),
    again as materialized (
      select ctid from task
       where topic = $1 and state = 1 and listed and sequence > 0 and sequence <= (select sequence from cutoff)
       order by sequence limit $2 for update skip locked),
    fresh as materialized (
      select ctid from task
       where topic = $1 and state = 1 and not listed
         and sequence >= (select sequence from head) and sequence <= (select bound from start)
         and (select registered from start)
       order by sequence limit $2 - (select count(*) from again) for update skip locked),
    claimed as (
      update task as t
         set state = 0, owner = $3, attempt = attempt + 1, ${columns === 'all' ? 'tries = tries + 1, ' : ''}started = statement_timestamp()
       where t.ctid = any(array(select ctid from again union all select ctid from fresh)) and t.state + 0 = 1
      returning t.sequence, t.attempt, t.identifier, t.input, t.listed)${ledger}
    select sequence, attempt, identifier, input from claimed
    union all
    select null, null, null, row_to_json(tail)::text
      from (
        select case when clean and (select count(*) from claimed) > 0 then ${mark} end::text as mark,
               bound, epoch, persisted,
               case when usable then ${below(settled)} end as floor,
               usable and ${isSettled('$8')} as settled
          from start) as tail`,
  }
}

/** $1 topic, $2 floor. Whoever finds the row locked leaves it to the other: a persisted floor may lag, never lead. */
export const persistText = `
  update task_topic as t set floor = $2
   where t.topic = $1 and t.floor < $2::bigint
     and t.ctid = any(array(select ctid from task_topic where topic = $1 and floor < $2::bigint for update skip locked))`

/** $1 topic, $2 owner. What the owner claimed fresh is in its chunks; what it claimed again is still listed. */
export function expireText(guards: Guards): string {
  return `
    with held as materialized (
      select t.sequence
        from (select distinct chunk from task_holding where topic = $1 and owner = $2) as h
        cross join lateral (
          select sequence from task
           where topic = $1 and sequence >= h.chunk << ${chunkBits} and sequence < (h.chunk + 1) << ${chunkBits}
             and state = 0 and owner = $2) as t
      union
      select sequence from task where topic = $1 and listed and state = 0 and owner = $2),
    locked as materialized (
      select sequence from task
       where topic = $1 and sequence = any(array(select sequence from held)) and state = 0 and owner = $2
       order by sequence for update)
    update task as t
       set state = 1, owner = null, started = null${guards.lists ? ', listed = true' : ''}
     where t.topic = $1 and t.sequence = any(array(select sequence from locked))
    returning t.sequence`
}

/**
 * $1 topic. A chunk is forgotten once the floor is past it, so that no fresh claim can happen in it any more, even by a poll
 * that has begun and saw the row of this ledger; and once the owner holds nothing fresh in it, which such a poll cannot change.
 */
export const forgetText = `
  delete from task_holding as h
   where h.topic = $1 and (h.chunk + 1) << ${chunkBits} <= (select floor from task_topic where topic = $1)
     and not exists (
       select from task as t
        where t.topic = $1 and t.sequence >= h.chunk << ${chunkBits} and t.sequence < (h.chunk + 1) << ${chunkBits}
          and t.state = 0 and t.owner = h.owner and not t.listed)`
