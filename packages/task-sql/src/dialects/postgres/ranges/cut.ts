/** The part of the poll that takes late and fresh tasks as ranges, inside the function (take-function.ts). */
import { raw, sql } from '../../../core/statement.ts'
import type { Statement } from '../../../core/statement.ts'
import type { PostgresTables } from '../tables.ts'
import { inTopic } from '../topic.ts'
import { answers, bytesOf, isShort, shortBytes, toFetch } from './answers.ts'
import { blockBits, fresh, frontierOf, isFresh, isOfThisServer, rangeStates } from './range-states.ts'

const lastOfBlock = raw(String(2 ** blockBits - 1))
const bits = raw(String(blockBits))
/** How many ranges of one owner are left active though nothing of them may be held any more. */
const mostLeft = 8
/** How many ranges one poll looks at to end them: from any place on, so that those of long tasks do not stand before others. */
const mostEnded = 32
/** How many rows that ended before they were taken are passed at a time. */
const mostPassed = 10_000

export function cutAndEnd(tables: PostgresTables): Statement {
  const { task, range } = tables
  const held = (alias: string): Statement =>
    sql`${raw(alias)}.topic = v_topic and ${raw(alias)}.state = ${rangeStates.active} and ${raw(alias)}.owner = v_owner`
  return sql`
      loop
      ${shortCut(tables)}
        exit when v_done;
        -- Of what has ended before it was taken, many rows are passed at a time.
        v_window := greatest(v_room, (
          select count(*)
            from (select 1
                    from ${task} t
                   where ${inTopic(tables, raw('v_topic'), raw('v_frontier'))}
                     and t.sequence < coalesce((
                       select t.sequence from ${task} t where ${inTopic(tables, raw('v_topic'), raw('v_frontier'))} and ${fresh} order by t.topic, t.sequence limit 1), 9223372036854775807)
                   order by t.topic, t.sequence
                   limit ${raw(String(mostPassed))}) passed)::int4);
        ${wholeCut(tables)};
        if found then
          -- What is late comes alone, and what is fresh after it.
          v_more := true;
          exit;
        end if;
        exit when not exists (select from ${task} t where ${inTopic(tables, raw('v_topic'), raw('v_frontier'))});
        -- Nothing was taken, but the frontier has moved, or missing blocks were noted.
        v_clean := false;
        v_frontier := ${frontierOf(tables, raw('v_topic'))};
      end loop;

      -- What this owner has worked off ends here, after the cut: a transaction that has written before sets no mark. A poll that has found nothing has the time.
      v_window := (select count(*) from (select from ${range} r where ${held('r')} limit ${raw(String(mostEnded + 1))}) r);
      if v_window > (case when v_hi is null and not v_more and v_listed is null then 0 else ${raw(String(mostLeft))} end) then
        v_from := case when v_window > ${raw(String(mostEnded))} then (
          select r.lo
            from ${range} r
           where ${held('r')}
           order by r.topic, r.lo
          offset (select pg_catalog.floor(pg_catalog.random() * count(*))::int8 from ${range} m where ${held('m')})
           limit 1) else 0 end;
        update ${range} r
           set state = ${rangeStates.ended}, owner = null
         where ${held('r')}
           and r.lo = any (array(
             select o.lo
               from (select o.lo, o.hi
                       from ${range} o
                      where ${held('o')}
                        and o.lo >= v_from
                      order by o.topic, o.lo
                      limit ${raw(String(mostEnded))}
                        for no key update skip locked) o
              where not exists (select from ${task} t where ${inTopic(tables, raw('v_topic'), raw('o.lo - 1'), raw('o.hi + 1'))} and ${fresh})));
      end if;`
}

/**
 * Most cuts find no missing block, neither an old one nor a new one: a statement without these costs half as much. No rival cuts while this one holds the lock,
 * so that no block is noted between the two.
 */
function shortCut(tables: PostgresTables): Statement {
  const { task, range } = tables
  return sql`
      if not exists (select from ${range} r where r.topic = v_topic and r.state = ${rangeStates.missing}) then
        with fresh as materialized (
          select t.sequence, ${fresh} as is_fresh, ${bytesOf('t')} as bytes
            from ${task} t
           where ${inTopic(tables, raw('v_topic'), raw('v_frontier'))}
           order by t.topic, t.sequence
           limit v_room),
        shape as materialized (
          select min(f.sequence) as first, max(f.sequence) as hi, (count(*) filter (where f.is_fresh))::int4 as given, sum(f.bytes) as bytes,
                 (select count(*) from (select from fresh b group by b.sequence >> ${bits}) b) as blocks
            from fresh f),
        tile as (
          insert into ${range} (topic, lo, hi, given, state, owner, leased)
          select v_topic, v_frontier + 1, k.hi, k.given, ${rangeStates.active}, v_owner, v_now
            from shape k
           where k.given > 0
             and k.hi >> ${bits} = (v_frontier >> ${bits}) + k.blocks - case when k.first >> ${bits} = v_frontier >> ${bits} then 1 else 0 end
          returning hi)
        select k.hi, s.bytes <= ${raw(String(shortBytes))} into v_hi, v_short from shape s left join tile k on true;
        if v_hi is not null then
          if v_short then
            return query
            select t.* from ${task} t where ${inTopic(tables, raw('v_topic'), raw('v_frontier'), raw('v_hi + 1'))} and ${fresh} order by t.topic, t.sequence;
          else
            v_row.topic := v_topic;
            v_row.sequence := v_frontier + 1;
            v_row.state := ${raw(String(answers.fetch))};
            return next v_row;
            v_row := null;
          end if;
        end if;
        v_done := v_hi is not null or not exists (select from ${task} t where ${inTopic(tables, raw('v_topic'), raw('v_frontier'))});
        -- Between fresh tasks there may be others, so that there is room for more.
        v_more := v_more or exists (
          select
            from ${range} r
           where r.topic = v_topic and r.lo = v_frontier + 1 and r.given < v_room
             and exists (select from ${task} t where ${inTopic(tables, raw('v_topic'), raw('r.hi'))}));
      end if;`
}

function wholeCut(tables: PostgresTables): Statement {
  const { task, range } = tables
  const mark = raw('pg_catalog.pg_current_xact_id()')
  return sql`
        return query
        with start as materialized (
          select pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot()) as low, v_frontier as frontier),
        noted as materialized (
          select r.lo, r.hi, case when ${isOfThisServer('r')} then r.mark end as mark
            from ${range} r
           where r.topic = v_topic and r.state = ${rangeStates.missing}),
        -- Late tasks, in order, each with the range that its block was noted in.
        late as materialized (
          select t.*, n.lo as of_lo
            from noted n,
                 lateral (select t as whole, t.sequence, t.identifier, t.headers, t.input
                            from ${task} t
                           where ${inTopic(tables, raw('v_topic'), raw('n.lo - 1'), raw('n.hi + 1'))} and ${fresh}
                           order by t.topic, t.sequence
                           limit v_room) t
           order by t.sequence
           limit v_room),
        found as materialized (
          select n.lo, n.hi, n.mark, count(*)::int4 as given, max(l.sequence) as last,
                 n.lo = max(n.lo) over () and (select count(*) from late) = v_room as cropped
            from late l
            join noted n on n.lo = l.of_lo
           group by n.lo, n.hi, n.mark),
        leased as (
          update ${range} r
             set state = ${rangeStates.active}, given = f.given, hi = case when f.cropped then f.last else f.hi end, mark = null, owner = v_owner, leased = v_now
            from found f
           where r.topic = v_topic and r.lo = f.lo and r.lo = any (array(select lo from found)) and r.state = ${rangeStates.missing}
          returning r.lo),
        -- What one poll does not take of a late block stays noted, and is found by the next one before anything fresh.
        rest as (
          insert into ${range} (topic, lo, hi, given, state, mark)
          select v_topic, last + 1, hi, 0, ${rangeStates.missing}, mark from found where cropped and last < hi),
        -- A missing block is forgotten once everyone who may have drawn its number has ended, and nothing is there.
        gone as (
          update ${range} r
             set state = ${rangeStates.ended}, mark = null
           where r.topic = v_topic and r.state = ${rangeStates.missing}
             and r.lo = any (array(
               select n.lo
                 from noted n, start s
                where n.mark is not null and s.low >= n.mark
                  and not exists (select from ${task} t where ${inTopic(tables, raw('v_topic'), raw('n.lo - 1'), raw('n.hi + 1'))} and ${fresh})))),
        marked as (
          update ${range} r
             set mark = ${mark}
           where r.topic = v_topic and r.state = ${rangeStates.missing}
             and r.lo = any (array(select n.lo from noted n where n.mark is null and v_clean and n.lo not in (select f.lo from found f)))),
        fresh as materialized (
          select t.*
            from ${task} t
           where ${inTopic(tables, raw('v_topic'), raw('v_frontier'))}
           order by t.topic, t.sequence
           limit case when exists (select from late) then 0 else v_window end),
        blocks as materialized (
          select f.sequence >> ${bits} as block, max(f.sequence) as hi, (count(*) filter (where ${isFresh('f')}))::int4 as given
            from fresh f
           group by 1),
        steps as (select b.*, pg_catalog.lag(b.block, 1, s.frontier >> ${bits}) over (order by b.block) as before from blocks b, start s),
        runs as (
          select block, hi, given, before, count(*) filter (where block > before + 1) over (order by block) as run from steps),
        -- A range ends at its last task, or with its last block if another follows.
        cut as materialized (
          select run = min(run) over () as leads, min(block) as first, min(before) as before, sum(given)::int4 as given,
                 case when run = max(run) over () then max(hi) else (max(block) << ${bits}) + ${lastOfBlock} end as hi
            from runs
           group by run),
        tiles as (
          select case when first > before + 1 then first << ${bits} else s.frontier + 1 end as lo, hi, given,
                 case when given > 0 then ${rangeStates.active} else ${rangeStates.ended} end as state
            from cut, start s
           union all
          -- The first missing one begins at the frontier, not where its number begins, if the frontier stands within a block.
          select case when leads and k = before + 1 then s.frontier + 1 else k << ${bits} end, (k << ${bits}) + ${lastOfBlock}, 0, ${rangeStates.missing}
            from cut, start s, pg_catalog.generate_series(before + 1, first - 1) k),
        cut_tiles as (
          insert into ${range} (topic, lo, hi, given, state, owner, leased, mark)
          select v_topic, t.lo, t.hi, t.given, t.state,
                 case when t.state = ${rangeStates.active} then v_owner end, case when t.state = ${rangeStates.active} then v_now end,
                 case when t.state = ${rangeStates.missing} and v_clean then ${mark} end
            from tiles t
          returning lo)
        select (l.whole).*
          from late l
         where exists (select from leased k where k.lo = l.of_lo) and ${isShort('late')}
        union all (${toFetch(tables, sql`leased k where not ${isShort('late')}`)})
        union all
        select f.*
          from fresh f
          join tiles t on f.sequence between t.lo and t.hi
         where ${isFresh('f')} and (select count(*) from cut_tiles) >= 0 and ${isShort('fresh')}
        union all (${toFetch(tables, sql`tiles k where k.state = ${rangeStates.active} and not ${isShort('fresh')}`)})`
}
