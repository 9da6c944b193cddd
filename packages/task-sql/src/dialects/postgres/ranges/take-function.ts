/**
 * The function that polls a topic that keeps outcomes (docs/decisions/ranges.md). A poll of a thousand fresh tasks writes one row: the range that it holds.
 *
 * Ranges tile the numbers of a topic: each begins behind the one before, and the last ends at the frontier. A push draws one number for each 1024 tasks, a
 * block, whose rows become visible together. A block that is missing is a range too, with a mark: the transaction that noted it. Once everyone who began
 * before that transaction has ended, nothing comes any more.
 */
import { states } from '../../../core/states.ts'
import { raw, sql } from '../../../core/statement.ts'
import type { Statement } from '../../../core/statement.ts'
import { chunkBits } from '../claim-ledger.ts'
import type { PostgresTables } from '../tables.ts'
import { inTopic, ready } from '../topic.ts'
import { cutAndEnd } from './cut.ts'
import { answers, bytesOf, shortBytes } from './answers.ts'
import { fresh, frontierOf, rangeStates } from './range-states.ts'

/** How long a poll waits for another that takes tasks of the topic, in a transaction that stays open. */
const mostWaitedMs = 200

/** Listed rows that are looked at beside those that are asked for. If others have locked that many, more are. */
const spareRows = 1_000

export function takeRangesName({ schema }: PostgresTables): Statement {
  return raw(`${schema}.task_take_ranges`)
}

/** The key of the advisory lock under which fresh tasks of a topic are taken. */
export function cutLock({ schema }: PostgresTables, topic: Statement): Statement {
  return sql`pg_catalog.hashtextextended('taskstream.cut.${raw(schema.replaceAll('"', ''))}.' || ${topic}, 0)`
}

/**
 * Takes what is listed, as rows, and what is late or else fresh, as ranges, in one order.
 *
 * The lock of the topic is taken before the snapshot that is looked at: at READ COMMITTED each statement of a volatile function has a snapshot of its own. By
 * a snapshot that is older than the lock, tasks would be taken twice.
 *
 * The parameters are the topic, the owner, how many tasks to take, whether to take any, and epoch milliseconds of a test clock or null. `answers` says what a
 * row is. A row with a topic and without a sequence says that there may be more to take.
 */
export function takeFunction(tables: PostgresTables): Statement {
  const { task, range, holding, partitioned } = tables
  const key = cutLock(tables, raw('v_topic'))
  return sql`
    create function ${takeRangesName(tables)}(
      v_topic text, v_owner text, v_size int4, v_may bool, v_clock int8
    ) returns setof ${task}
    language plpgsql
    volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set jit = off
    set lock_timeout = ${raw(`'${mostWaitedMs}ms'`)}
    set plan_cache_mode = ${raw(partitioned ? 'force_custom_plan' : 'force_generic_plan')}
    as $function$
    declare
      v_now constant timestamptz := coalesce(pg_catalog.to_timestamp(v_clock::float8 / 1000), pg_catalog.statement_timestamp());
      -- A transaction that has written before might roll back what a later snapshot shows as its own, and sets no mark.
      v_clean bool := pg_catalog.pg_current_xact_id_if_assigned() is null;
      v_relisted bool;
      v_locked bool;
      v_short bool := false;
      v_spare int4 := ${raw(String(spareRows))};
      v_room int4;
      v_window int4;
      v_listed int8[];
      v_bytes int8;
      v_behind int8 := 9223372036854775807;
      v_frontier int8;
      v_hi int8;
      v_from int8;
      v_done bool := false;
      v_more bool := false;
      v_row ${task};
    begin
      if not v_may then
        return;
      end if;

      v_relisted := exists (select from ${task} t where ${inTopic(tables, raw('v_topic'))} and t.listed and ${ready} order by t.topic, t.sequence limit 1);
      v_locked := pg_catalog.pg_try_advisory_xact_lock(${key});
      if not v_locked then
        -- Most cuts take a few milliseconds, and waiting for one is better than asking again.
        begin
          perform pg_catalog.pg_advisory_xact_lock(${key});
          v_locked := true;
        exception when lock_not_available then
          v_more := true;
        end;
      end if;
      v_frontier := ${frontierOf(tables, raw('v_topic'))};

      v_room := v_size;
      if not v_locked then
        -- Whoever has the lock takes what is fresh. What is listed behind that would overtake it.
        v_behind := least(v_frontier + 1, (select min(r.lo) from ${range} r where r.topic = v_topic and r.state = ${rangeStates.missing}));
      end if;
      if v_relisted then
        -- Listed tasks and fresh ones come in one order: those are taken that are among the first of both.
        loop
          select pg_catalog.array_agg(m.sequence) filter (where m.is_listed), (count(*) filter (where not m.is_listed))::int4, count(*) < v_size
            into v_listed, v_room, v_short
            from (select u.sequence, u.is_listed
                    from (select u.sequence, u.is_listed
                            from ((select t.sequence, true as is_listed
                                     from ${task} t
                                    where ${inTopic(tables, raw('v_topic'))} and t.listed and ${ready} and t.sequence < v_behind
                                    order by t.topic, t.sequence
                                    limit v_size + v_spare)
                                  union all
                                  (select t.sequence, false
                                     from ${range} r,
                                          lateral (select t.sequence
                                                     from ${task} t
                                                    where ${inTopic(tables, raw('v_topic'), raw('r.lo - 1'), raw('r.hi + 1'))} and ${fresh}
                                                    order by t.topic, t.sequence
                                                    limit v_size) t
                                    where v_locked and r.topic = v_topic and r.state = ${rangeStates.missing})
                                  union all
                                  (select t.sequence, false
                                     from ${task} t
                                    where v_locked and ${inTopic(tables, raw('v_topic'), raw('v_frontier'))} and ${fresh}
                                    order by t.topic, t.sequence
                                    limit v_size)) u
                           order by u.sequence) u
                    left join lateral (select t.sequence
                                         from ${task} t
                                        where u.is_listed and t.topic = v_topic and t.sequence = u.sequence and t.listed and ${ready}
                                          for update skip locked) l on true
                   where not u.is_listed or l.sequence is not null
                   limit v_size) m;
          -- Others may have locked all that were looked at.
          exit when not v_short or v_size + v_spare > (
            select count(*)
              from (select 1 from ${task} t where ${inTopic(tables, raw('v_topic'))} and t.listed and ${ready} and t.sequence < v_behind order by t.topic, t.sequence limit v_size + v_spare) l);
          v_spare := v_spare * 16;
        end loop;
        if v_short then
          v_room := v_size - coalesce(pg_catalog.cardinality(v_listed), 0);
        end if;
      end if;
      if v_listed is not null then
        v_clean := false;
        -- Records which chunks have tasks of this owner, so that they are found if it dies (claim-ledger.ts).
        with wanted as (
          select distinct s.sequence >> ${raw(String(chunkBits))} as chunk from pg_catalog.unnest(v_listed) s (sequence)),
        noted as materialized (
          select h.chunk
            from ${holding} h
           where h.topic = v_topic and h.owner = v_owner and h.chunk = any (array(select w.chunk from wanted w))
             for share skip locked)
        insert into ${holding} (topic, owner, chunk)
        select v_topic, v_owner, w.chunk
          from wanted w
         where w.chunk not in (select n.chunk from noted n);
        with taken as (
          update ${task} t
             set state = ${states.active}, reason = null, owner = v_owner, attempt = t.attempt + 1, tries = t.tries + 1, started = v_now
           where t.topic = v_topic and t.sequence = any (v_listed) and t.state = ${states.ready}
          returning t.sequence, ${bytesOf('t')} as bytes)
        select pg_catalog.array_agg(k.sequence), sum(k.bytes) into v_listed, v_bytes from taken k;
        if v_bytes <= ${raw(String(shortBytes))} then
          return query
          select t.* from ${task} t where t.topic = v_topic and t.sequence = any (v_listed);
        else
          v_row.topic := v_topic;
          v_row.state := ${raw(String(answers.fetchRow))};
          foreach v_row.sequence in array v_listed loop
            return next v_row;
          end loop;
          v_row := null;
        end if;
      end if;

      if v_locked and v_room > 0 then
        ${cutAndEnd(tables)}
      end if;
      if v_more then
        v_row.topic := v_topic;
        return next v_row;
      end if;
    end
    $function$`
}
