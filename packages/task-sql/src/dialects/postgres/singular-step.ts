/**
 * The functions that poll a topic with a singular condition, one for each order. They do what `claimSingular` does by statements from outside, and keep to
 * the same rules: whatever judges an identifier begins after its lock stripe was locked. Each statement of a volatile function sees what was committed
 * before it began, as long as the transaction is at READ COMMITTED. Processes with the functions and without may work side by side.
 */
import type { PollOrder } from '@taskstream/task-api'
import type { MigrationStep } from '../../core/dialect.ts'
import { stages, states } from '../../core/states.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import { orderByTopic } from '../shared/writes-returning.ts'
import { chunkBits } from './claim-ledger.ts'
import { stripeOf } from './lock-stripes.ts'
import type { PostgresTables } from './tables.ts'
import { ready } from './topic.ts'

/** The orders in which a topic with a condition may be polled. */
export type SingularOrder = Exclude<PollOrder, 'shared'>

export function singularStep(tables: PostgresTables): MigrationStep {
  const orders: readonly SingularOrder[] = ['fifo', 'lifo', 'priority']
  return {
    version: 11,
    name: 'polls of singular topics',
    // Older releases do not call the functions, and lock the same stripes.
    worksFrom: 2,
    statements: orders.map((order) => takeFunction(tables, order)),
  }
}

/** Extra stripes that later rounds lock, because tasks of the first round were blocked or locked. */
const spareStripes = 16
/** Extra rows that are looked at, as others may be working on the first ones. They are only read. */
const spareRows = 1_000
/** About how many extra rows one poll judges. */
const judged = 1_500
/** How many blocked rows one poll takes off the ready list at least, which is the dearest part of it. */
const unlisted = 500
const maximumRounds = 16

/** A number that sorts rows as polls take them. A priority outweighs every sequence below 2^47. */
const placeIn: Readonly<Record<SingularOrder, string>> = {
  fifo: 't.sequence',
  lifo: '- t.sequence',
  priority: `t.sequence - t.priority * ${2 ** 47}::int8`,
}

/**
 * The search path stays the caller's, as triggers of somebody else's on the table may need it: all names here have their schema.
 *
 * The parameters are the topic, the owner, how many tasks to take, the number of the condition, whether to take any, and epoch milliseconds of a test clock
 * or null. The rows are the tasks that were taken. A row without a sequence says that the poll has not looked at all.
 *
 * A session keeps the plans of a function, also those that it has made for an empty table, and those must suit a large one. Without the ways of the planner
 * that are switched off, only indexes are left, and the conditions fit one index each. In a partitioned table a plan is made for each call, as a kept one
 * would read the partitions of all topics.
 */
function takeFunction(tables: PostgresTables, order: SingularOrder): Statement {
  const { task, turn, holding, lane } = tables
  const first = order === 'lifo' ? raw('max') : raw('min')
  const before = order === 'lifo' ? raw('>') : raw('<')
  const listed = sql`t.listed = true and ${ready}${order === 'priority' ? raw(' and t.ranked = true') : raw('')}`
  /** Not null if the identifier has a task `b` that meets the condition: one seek in the index by identifier and blocking class. */
  const stands = (obstacle: Statement): Statement =>
    sql`(select 1 from ${task} b where b.topic = v_topic and b.identifier = c.identifier and ${obstacle} limit 1)`
  /** Not null if a task of the identifier is active, or open and before this one. In the order of the index, those are the tasks before this one. */
  const busy =
    order === 'lifo'
      ? sql`coalesce(${stands(sql`b.stage = ${stages.active}`)}, ${stands(sql`b.stage = ${stages.open} and b.sequence > c.sequence`)})`
      : stands(sql`b.stage <= ${stages.open} and (b.stage, b.sequence) < (${stages.open}, c.sequence)`)
  /** Ready rows of these sequences, in their order. The lateral subquery locks each row when it is reached, and skips those that others have locked. */
  const lockedRows = (sequences: string): Statement => sql`pg_catalog.unnest(${raw(sequences)}) u (sequence),
                   lateral (select t.topic, t.sequence
                              from ${task} t
                             where t.topic = v_topic and t.sequence = u.sequence and t.state = ${states.ready}
                               for update skip locked) t`
  /** The first open task of an identifier `t`, or an active one: of those the index has the active ones first. */
  const firstOpen =
    order === 'lifo'
      ? sql`t.stage = ${stages.open} order by t.sequence desc`
      : sql`t.stage <= ${stages.open} order by t.stage, t.sequence`
  /** Locks the stripes of the candidates `c`, in the order of their places. Candidates have a `key`, an `identifier` and a `place`. */
  const lockStripes = (candidates: Statement, most: string): Statement => sql`
    select pg_catalog.count(distinct s.lane), pg_catalog.max(s.place), pg_catalog.max(s.total),
           pg_catalog.array_agg(c.key), pg_catalog.array_agg(c.place)
      into v_count, v_reach, v_total, v_keys, v_places
      from (select wanted.*
              from (select ${stripeOf(raw('c.identifier'))} as lane, pg_catalog.min(c.place) as place, pg_catalog.max(c.total) as total,
                           pg_catalog.array_agg(c.key) as keys, pg_catalog.array_agg(c.place) as places
                      from (${candidates}) c
                     group by 1
                     order by 2) wanted,
                   lateral (select l.lane
                              from ${lane} l
                             where l.topic = v_topic and l.lane = wanted.lane
                               for update skip locked) free
             limit ${raw(most)}) s,
           lateral unnest(s.keys, s.places) c (key, place)`
  return sql`
    create function ${takeName(tables, order)}(
      v_topic text, v_owner text, v_size int4, v_condition int4, v_may bool, v_clock int8
    ) returns setof ${task}
    language plpgsql
    volatile
    set enable_seqscan = off
    set enable_bitmapscan = off
    set enable_hashjoin = off
    set enable_mergejoin = off
    set jit = off
    set plan_cache_mode = ${raw(tables.partitioned ? 'force_custom_plan' : 'force_generic_plan')}
    as $function$
    declare
      v_now constant timestamptz := coalesce(pg_catalog.to_timestamp(v_clock::float8 / 1000), pg_catalog.statement_timestamp());
      v_failed constant bool := v_condition >= 2;
      v_suspended constant bool := v_condition >= 3;
      v_judged int4 := v_size + ${raw(String(judged))};
      v_unlisted int4 := v_size / 2 + ${raw(String(unlisted))};
      v_locked int4 := 0;
      v_after int8 := '-9223372036854775808';
      v_last int8;
      v_room int4 := v_size;
      v_most int4;
      v_more bool := false;
      v_count int4;
      v_reach int8;
      v_total int8;
      v_keys int8[];
      v_places int8[];
      v_free int8[];
      v_waiting int8[];
      v_stripes int4;
      v_taken int4;
      v_row ${task};
    begin
      if not v_may then
        return;
      end if;

      -- Puts the first tasks of the rechecked identifiers on the ready list, and deletes the rechecks.
      v_most := v_size * 4 + ${raw(String(spareRows))};
      ${lockStripes(
        sql`select n.turn as key, n.identifier, n.turn as place, 0 as total
              from ${turn} n
             where n.topic = v_topic
             order by n.turn
             limit v_most`,
        'v_most',
      )};
      if v_keys is not null then
        v_more := pg_catalog.cardinality(v_keys) >= v_most;
        with notes as materialized (
          select n.turn, n.identifier
            from ${turn} n
           where n.topic = v_topic and n.turn = any (v_keys)),
        heads as materialized (
          select c.identifier, h.sequence
            from (select distinct n.identifier from notes n) c,
                 lateral (select t.sequence, t.listed, t.stage
                            from ${task} t
                           where t.topic = v_topic and t.identifier = c.identifier and ${firstOpen}
                           limit 1) h
           where not h.listed and h.stage = ${stages.open}${order === 'lifo' ? sql` and ${stands(sql`b.stage = ${stages.active}`)} is null` : raw('')}),
        free as materialized (
          select t.topic, t.sequence
            from heads h,
                 lateral (select t.topic, t.sequence
                            from ${task} t
                           where t.topic = v_topic and t.sequence = h.sequence and t.state = ${states.ready} and not t.listed
                             for update skip locked) t),
        changed as (
          update ${task} t
             set listed = true
            from free
           where t.topic = free.topic and t.sequence = free.sequence
          returning t.identifier)
        -- Others have locked the rows that could not be listed. The rechecks of their identifiers stay.
        delete from ${turn} n
         where n.topic = v_topic
           and n.turn = any (array(select n.turn from notes n
                                    where n.identifier not in (select h.identifier from heads h)
                                       or n.identifier in (select c.identifier from changed c)));
      end if;

      for v_round in 0 .. ${raw(String(maximumRounds - 1))} loop
        v_most := v_room * 2 + ${raw(String(spareRows))};
        v_stripes := case when v_round = 0 then v_room else v_room + ${raw(String(spareStripes))} + v_locked end;
        ${lockStripes(
          sql`select t.sequence as key, t.identifier, ${raw(placeIn[order])} as place, pg_catalog.count(*) over () as total
                from (select t.sequence, t.identifier, t.priority
                        from ${task} t
                       where t.topic = v_topic and ${listed} and ${raw(placeIn[order])} > v_after
                       order by ${orderByTopic(order)}
                       limit v_most) t`,
          'v_stripes',
        )};
        exit when v_keys is null;
        -- This statement begins after the stripes were locked, so it sees all that other polls have done there.
        select pg_catalog.array_agg(j.sequence order by j.place) filter (where j.blocked is null),
               pg_catalog.array_agg(j.sequence order by j.place) filter (where j.blocked is not null),
               pg_catalog.max(j.place)
          into v_free, v_waiting, v_last
          from (select c.sequence, c.place,
                       case when c.sequence <> c.head then 1
                       else coalesce(${busy},
                                     case when v_failed then ${stands(sql`b.stage = ${stages.failed} and b.sequence ${before} c.sequence`)} end,
                                     case when v_suspended then ${stands(sql`b.stage = ${stages.suspended} and b.sequence ${before} c.sequence`)} end) end as blocked
                  from (select t.sequence, t.identifier, u.place, ${first}(t.sequence) over (partition by t.identifier) as head
                          from (select u.key, u.place
                                  from unnest(v_keys, v_places) u (key, place)
                                 where v_count < v_stripes or u.place <= v_reach
                                 order by u.place
                                 limit v_room + ${raw(String(spareRows))}) u,
                               lateral (select t.sequence, t.identifier
                                          from ${task} t
                                         where t.topic = v_topic and t.sequence = u.key and ${listed}
                                        offset 0) t) c
                -- Otherwise each of the two lists would judge for itself.
                offset 0) j;
        exit when v_free is null and v_waiting is null;
        -- The next round looks behind these, whether they are taken, blocked, or locked by others.
        v_after := v_last;
        v_judged := v_judged - coalesce(pg_catalog.cardinality(v_free), 0) - coalesce(pg_catalog.cardinality(v_waiting), 0);
        v_waiting := v_waiting[1 : v_unlisted];
        if pg_catalog.cardinality(v_waiting) > 0 then
          with free as materialized (
            select t.topic, t.sequence
              from ${lockedRows('v_waiting')})
          update ${task} t
             set listed = false
            from free
           where t.topic = free.topic and t.sequence = free.sequence;
          v_unlisted := v_unlisted - pg_catalog.cardinality(v_waiting);
        end if;
        if v_free is not null then
          -- Records which chunks have tasks of this owner, so that they are found if it dies (claim-ledger.ts).
          with wanted as (
            select distinct s.sequence >> ${raw(String(chunkBits))} as chunk from pg_catalog.unnest(v_free) s (sequence)),
          noted as materialized (
            select h.chunk
              from ${holding} h
             where h.topic = v_topic and h.owner = v_owner and h.chunk = any (array(select w.chunk from wanted w))
               for share skip locked)
          insert into ${holding} (topic, owner, chunk)
          select v_topic, v_owner, w.chunk
            from wanted w
           where w.chunk not in (select n.chunk from noted n);
          return query
          with free as materialized (
            select t.topic, t.sequence
              from ${lockedRows('v_free')}
             limit v_room)
          update ${task} t
             set listed = false, state = ${states.active}, reason = null, owner = v_owner, attempt = t.attempt + 1, tries = t.tries + 1, started = v_now, stage = ${stages.active}
            from free
           where t.topic = free.topic and t.sequence = free.sequence
          returning t.*;
          get diagnostics v_taken = row_count;
          v_room := v_room - v_taken;
          v_locked := v_locked + pg_catalog.cardinality(v_free) - v_taken;
        end if;
        exit when v_room <= 0;
        -- All that is left is in stripes that others have locked.
        exit when v_total < v_most and v_count < v_stripes and pg_catalog.cardinality(v_keys) <= v_room + ${raw(String(spareRows))};
        if v_judged <= 0 then
          v_more := true;
          exit;
        end if;
      end loop;
      if v_more and v_room > 0 then
        v_row.listed := true;
        return next v_row;
      end if;
    end
    $function$`
}

/** The name of the function for an order. */
export function takeName({ schema }: PostgresTables, order: SingularOrder): Statement {
  return raw(`${schema}.task_take_${order}`)
}
