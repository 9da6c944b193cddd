import type { Form } from '../guards.ts'
import { gateAt, guarded, lockClass } from '../guards.ts'
import { plans } from './plans.ts'

/**
 * LEAVE gives tasks the state that their range says, before an operator changes them: succeeded in a done range, ready (and listed) in none. What an
 * active range holds stays there. A task in no range may only leave while nobody cuts, because a cut would count it.
 *
 * The lock is taken before the snapshot that finds the ranges. A range that was merged while this statement waited for it is looked for again.
 */
export function leaveFunction(form: Form): string {
  const uncovered = `exists (
        select from task t where t.topic = p_topic and t.sequence = any (p_sequences) and t.state is null and not exists (
          select from task_range r where r.topic = p_topic and r.lo = (
            select max(b.lo) from task_range b where b.topic = p_topic and b.lo <= t.sequence) and r.hi >= t.sequence and r.state <> 9))`
  return `
    create function tile_leave(p_topic text, p_sequences int8[]) returns int language plpgsql ${plans} as $$
    declare v_left int := 0; v_now int; v_wanted int; v_locked bool := ${guarded(form, 'leave locks', 'false', 'true')};
    begin
      if current_setting('transaction_isolation') <> 'read committed' then raise exception 'tasks leave at READ COMMITTED only'; end if;
      loop
        if not v_locked and ${uncovered} then
          perform pg_advisory_xact_lock(${lockClass}, hashtext(p_topic));
          v_locked := true;
        end if;
        with want as materialized (
          select t.sequence, b.lo, b.hi, b.state from task t left join lateral (
            select r.lo, r.hi, r.state from task_range r where r.topic = p_topic and r.lo <= t.sequence order by r.topic desc, r.lo desc limit 1) b on b.hi >= t.sequence
           where t.topic = p_topic and t.sequence = any (p_sequences) and t.state is null and b.state is distinct from 0),
        held as materialized (
          select r.* from task_range r where r.topic = p_topic and r.state = 6 and r.lo in (select lo from want where state = 6)
             and ${gateAt(form, 'leave')}
           order by r.topic, r.lo for no key update),
        rows as (
          update task t set state = case when h.lo is null then 1 else 6 end, listed = h.lo is null, owner = h.owner, started = h.leased, completed = h.done,
                 attempt = case when h.lo is null then 0 else 1 end, tries = case when h.lo is null then 0 else 1 end
            from want w left join held h on h.lo = w.lo and w.sequence between h.lo and h.hi
           where t.topic = p_topic and t.sequence = w.sequence and t.state is null
             and ${guarded(form, 'leave asks again', '(h.lo is not null or v_locked and coalesce(w.state = 9, true))', 'true')} returning h.lo),
        less as (
          update task_range r set n = r.n - c.c from (select lo, count(*)::int as c from rows where lo is not null group by lo) c
           where r.topic = p_topic and r.lo = c.lo)
        select (select count(*) from rows), (select count(*) from want) into v_now, v_wanted;
        v_left := v_left + v_now;
        exit when v_now = v_wanted or ${guarded(form, 'leave asks again', 'v_wanted = 0', 'true')};
      end loop;
      return v_left;
    end $$;`
}
