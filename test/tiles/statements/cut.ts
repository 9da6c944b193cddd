import type { Form } from '../guards.ts'
import { gateAt, guarded, lockClass } from '../guards.ts'
import { frontier } from './frontier.ts'
import { plans } from './plans.ts'

const topicKey = `${lockClass}, hashtext(p_topic)`
/** Less than the smallest buffer of a socket. */
const shortBytes = 32_768
const isListed = `exists (select from task t where t.topic = p_topic and t.listed and coalesce(t.state = 1, false))`

/**
 * CUT, as a function, because the lock of the topic must be held before the snapshot that is looked at: at READ COMMITTED each statement of a volatile
 * function has a snapshot of its own. Who gets no lock takes nothing, and is told `busy`.
 *
 * Listed tasks come before all others: if there are any and `p_minds`, nothing is taken and the answer is `listed`. `p_pass` only moves the frontier past tasks that have a state of their own.
 */
export function cutFunction(form: Form): string {
  const isLocked = `pg_try_advisory_xact_lock(${topicKey})`
  const before = `
      if p_wait then perform pg_advisory_xact_lock(${topicKey});
      elsif not ${isLocked} then return query select null::int8, null::text, null::text, null::int8, 'busy'; return; end if;`
  return `
    create function tile_cut(p_topic text, p_owner text, p_size int, p_token int8, p_minds bool, p_wait bool, p_pass bool)
    returns table (sequence int8, identifier text, input text, lo int8, status text) language plpgsql ${plans} as $$
    #variable_conflict use_column
    declare v_clean constant bool := pg_current_xact_id_if_assigned() is null; v_frontier int8;
    begin
      if current_setting('transaction_isolation') <> 'read committed' then raise exception 'ranges are cut at READ COMMITTED only'; end if;
      if p_minds and ${isListed} then return query select null::int8, null::text, null::text, null::int8, 'listed'; return; end if;
      ${guarded(form, 'lock before snapshot', `${form.gate === 'snapshot' ? `perform ${gateAt(form, 'snapshot')};` : ''} ${before}`)}
      ${guarded(form, 'lock before snapshot', shortCut(form))}
      return query
      ${cutStatement(form, guarded(form, 'lock before snapshot', 'true', `case when ${gateAt(form, 'snapshot')} then ${isLocked} else false end`))};
    end $$;`
}

/**
 * Whether the answer is short. A server's process that sends more than its client reads stands still with its transaction open, and with it the lock: a
 * client that has stopped, or computes, would keep all others from cutting. A longer answer is fetched by the client afterwards, without the lock.
 */
function isShort(form: Form, rows: string): string {
  return guarded(
    form,
    'short answers',
    `coalesce((select sum(octet_length(input) + octet_length(identifier) + 40) from ${rows}), 0) <= ${shortBytes}`,
    'true',
  )
}

/** FETCH the tasks of ranges that are held: `$1` topic, `$2` lo, `$3` token. */
export const fetchTasks = `
    select t.sequence, t.identifier, t.input, r.lo from task_range r, lateral (
      select t.sequence, t.identifier, t.input from task t
       where (t.topic, t.sequence) >= ($1, r.lo) and (t.topic, t.sequence) <= ($1, r.hi) and t.state is null order by t.topic, t.sequence limit r.n) t
     where r.topic = $1 and r.lo = any ($2::int8[]) and r.token = $3 and r.state = 0`

/**
 * Most cuts find no noted block and no missing one: a statement without these costs half as much. No rival cuts while this one holds the lock, so that
 * no block is noted between the two.
 */
function shortCut(form: Form): string {
  const isWhole = guarded(
    form,
    'cut breaks',
    'k.hi >> 10 = (v_frontier >> 10) + k.blocks - case when k.first >> 10 = v_frontier >> 10 then 1 else 0 end',
    'true',
  )
  return `
      if not p_pass and not exists (select from task_range r where r.topic = p_topic and r.state = 9) then
        v_frontier := coalesce(${frontier('p_topic')}, 1023);
        return query
        with fresh as materialized (
          select t.sequence, t.identifier, t.input, t.state from task t
           where (t.topic, t.sequence) > (p_topic, v_frontier) and t.topic <= p_topic order by t.topic, t.sequence limit p_size),
        shape as (
          select min(f.sequence) as first, max(f.sequence) as hi, count(*) filter (where f.state is null)::int as n,
                 (select count(*) from (select from fresh b group by b.sequence >> 10) b) as blocks from fresh f),
        tile as (
          insert into task_range (topic, lo, hi, n, state, owner, token, leased)
          select p_topic, v_frontier + 1, k.hi, k.n, 0, p_owner, p_token, now() from shape k where k.n > 0 and ${isWhole} returning lo)
        select f.sequence, f.identifier::text, f.input, t.lo, null::text from tile t, fresh f where f.state is null and ${isShort(form, 'fresh')}
        union all
        select null, null, null, t.lo, 'fetch' from tile t where not ${isShort(form, 'fresh')};
        if found or not exists (select from task t where (t.topic, t.sequence) > (p_topic, v_frontier) and t.topic <= p_topic) then return; end if;
      end if;`
}

function cutStatement(form: Form, isFree: string): string {
  const mark = guarded(form, 'own id', 'pg_current_xact_id()', 'pg_snapshot_xmax(pg_current_snapshot())')
  const isClean = guarded(form, 'clean mark', 'v_clean', 'true')
  const arbited = guarded(form, 'lock before snapshot', '', guarded(form, 'key as arbiter', 'on conflict do nothing'))
  return `
      with start as materialized (
        select pg_snapshot_xmin(pg_current_snapshot()) as low, coalesce(${frontier('p_topic')}, 1023) as frontier where ${isFree}),
      noted as materialized (select r.lo, r.hi, r.mark from start, task_range r where r.topic = p_topic and r.state = 9),
      -- Late tasks, in order, each with the range that its block was noted in.
      late as materialized (
        select t.*, n.lo from noted n, lateral (
          select t.sequence, t.identifier, t.input from task t
           where t.topic = p_topic and t.sequence between n.lo and n.hi and t.state is null and not p_pass
           order by t.topic, t.sequence limit p_size) t
         order by t.sequence limit p_size),
      found as materialized (
        select n.lo, n.hi, n.mark, count(*)::int as n, max(l.sequence) as last,
               n.lo = max(n.lo) over () and (select count(*) from late) = p_size as cropped
          from late l join noted n using (lo) group by n.lo, n.hi, n.mark),
      leased as (
        update task_range r set state = 0, n = f.n, hi = case when f.cropped then f.last else f.hi end, mark = null,
               owner = p_owner, token = p_token, leased = now()
          from found f where r.topic = p_topic and r.lo = f.lo and r.lo = any (array(select lo from found)) and r.state = 9 returning r.lo),
      rest as (
        insert into task_range (topic, lo, hi, n, state, mark)
        select p_topic, last + 1, hi, 0, ${guarded(form, 'rest stays noted', '9', '6')}, mark from found where cropped and last < hi),
      -- A noted block is dead when everyone who may have drawn its number has ended, and nothing is there.
      dead as (
        update task_range r set state = 6, done = now(), mark = null
         where r.topic = p_topic and r.state = 9 and r.lo = any (array(
           select n.lo from noted n, start s where n.mark is not null and ${guarded(form, 'mark', 's.low >= n.mark', 'true')}
              and not exists (select from task t where t.topic = p_topic and t.sequence between n.lo and n.hi and t.state is null)))),
      marked as (
        update task_range r set mark = ${mark}
         where r.topic = p_topic and r.state = 9 and r.lo = any (array(
           select n.lo from noted n where n.mark is null and ${isClean} and n.lo not in (select f.lo from found f)))),
      fresh as materialized (
        select t.sequence, t.identifier, t.input, t.state from task t
         where (t.topic, t.sequence) > (p_topic, (select frontier from start)) and t.topic <= p_topic
           and (not p_pass or t.sequence < coalesce((
             select f.sequence from task f where (f.topic, f.sequence) > (p_topic, (select frontier from start)) and f.topic <= p_topic and f.state is null
              order by f.topic, f.sequence limit 1), 9223372036854775807))
         order by t.topic, t.sequence
         limit (select case when ${guarded(form, 'late first', 'exists (select from late)', 'false')} then 0 when p_pass then 1024 else p_size end from start)),
      blocks as materialized (
        select sequence >> 10 as block, max(sequence) as hi, count(*) filter (where state is null)::int as n from fresh group by 1),
      steps as (select b.*, lag(b.block, 1, s.frontier >> 10) over (order by b.block) as before from blocks b, start s),
      runs as (
        select block, hi, n, before, count(*) filter (where ${guarded(form, 'cut breaks', 'block > before + 1', 'false')}) over (order by block) as run
          from steps),
      -- A range ends at its last task, or with its last block if another follows.
      cut as materialized (
        select run = min(run) over () as leads, min(block) as first, min(before) as before, sum(n)::int as n,
               case when run = max(run) over () then max(hi) else (max(block) << 10) + 1023 end as hi
          from runs group by run),
      tiles as (
        select case when first > before + 1 and ${guarded(form, 'cut breaks', 'true', 'false')} then first << 10 else s.frontier + 1 end as lo, hi, n,
               case when n > 0 then 0 else 6 end as state from cut, start s
        union all
        select case when leads and k = before + 1 then s.frontier + 1 else k << 10 end, (k << 10) + 1023, 0, 9
          from cut, start s, generate_series(before + 1, first - 1) k where ${guarded(form, 'cut breaks', 'true', 'false')}),
      -- Who cannot put the first range behind the frontier takes nothing.
      first as (
        insert into task_range (topic, lo, hi, n, state, owner, token, leased, mark)
        select p_topic, t.lo, t.hi, t.n, t.state, p_owner, p_token, now(), case when t.state = 9 and ${isClean} then ${mark} end
          from tiles t, start s where t.lo = s.frontier + 1 ${arbited} returning lo),
      others as (
        insert into task_range (topic, lo, hi, n, state, owner, token, leased, mark)
        select p_topic, t.lo, t.hi, t.n, t.state, p_owner, p_token, now(), case when t.state = 9 and ${isClean} then ${mark} end
          from tiles t, start s where t.lo > s.frontier + 1 and exists (select from first) returning lo)
      select l.sequence, l.identifier::text, l.input, l.lo, null::text from late l
       where exists (select from leased k where k.lo = l.lo) and ${isShort(form, 'late')}
      union all
      select null, null, null, k.lo, 'fetch' from leased k where not ${isShort(form, 'late')}
      union all
      select f.sequence, f.identifier::text, f.input, t.lo, null from fresh f join tiles t on f.sequence between t.lo and t.hi
       where f.state is null and exists (select from first) and (select count(*) from others) >= 0 and ${isShort(form, 'fresh')}
      union all
      select null, null, null, t.lo, 'fetch' from tiles t where t.state = 0 and exists (select from first) and not ${isShort(form, 'fresh')}
      union all
      select null, null, null, null, case when exists (select from start) then 'again' else 'busy' end
       where not exists (select from late) and not exists (select from fresh where state is null)
         and (not exists (select from start) or exists (select from fresh))`
}

/**
 * A SMALL CLAIM, as a function for the same reason: late tasks, then fresh ones, row by row. It holds the lock shared, so that no cut counts its tasks
 * meanwhile, and that its snapshot shows every range.
 */
export function smallFunction(form: Form): string {
  const lock = guarded(
    form,
    'small claims lock',
    `if p_wait then perform pg_advisory_xact_lock_shared(${topicKey});
      elsif not pg_try_advisory_xact_lock_shared(${topicKey}) then return query select null::int8, null::text, null::text, null::int, 'busy'; return; end if;`,
  )
  const isFree = guarded(
    form,
    'lock before snapshot',
    'true',
    `case when ${gateAt(form, 'snapshot')} then pg_try_advisory_xact_lock_shared(${topicKey}) else false end`,
  )
  return `
    create function tile_small(p_topic text, p_owner text, p_size int, p_minds bool, p_wait bool)
    returns table (sequence int8, identifier text, input text, attempt int, status text) language plpgsql ${plans} as $$
    #variable_conflict use_column
    begin
      if current_setting('transaction_isolation') <> 'read committed' then raise exception 'ranges are cut at READ COMMITTED only'; end if;
      if p_minds and ${isListed} then return query select null::int8, null::text, null::text, null::int, 'listed'; return; end if;
      ${guarded(form, 'lock before snapshot', `${form.gate === 'snapshot' ? `perform ${gateAt(form, 'snapshot')};` : ''} ${lock}`)}
      return query
      with start as materialized (select coalesce(${frontier('p_topic')}, 1023) as frontier where ${isFree}),
      late as materialized (
        select t.sequence from start, task_range n, lateral (
          select t.sequence from task t where t.topic = p_topic and t.sequence between n.lo and n.hi and t.state is null
           order by t.topic, t.sequence limit p_size for update skip locked) t
         where n.topic = p_topic and n.state = 9 order by t.sequence limit p_size),
      fresh as materialized (
        select t.sequence from task t
         where (t.topic, t.sequence) > (p_topic, (select frontier from start)) and t.topic <= p_topic and t.state is null
         order by t.topic, t.sequence limit (select p_size - count(*) from late) for update skip locked)
      update task t set state = 0, listed = true, owner = p_owner, attempt = t.attempt + 1, tries = t.tries + 1, started = now()
       where t.topic = p_topic and t.sequence = any (array(select l.sequence from late l union all select f.sequence from fresh f)) and t.state is null
      returning t.sequence, t.identifier::text, t.input, t.attempt, null::text;
      -- Now and then the frontier passes what small claims have taken, so that they need not read it again.
      if random() < 0.015 and pg_try_advisory_xact_lock(${topicKey}) then perform tile_cut(p_topic, p_owner, 0, 0, false, false, true); end if;
    end $$;`
}
