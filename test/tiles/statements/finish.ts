import type { Form } from '../guards.ts'
import { guarded } from '../guards.ts'

/** A range that nobody holds any more stays as a tile with n = 0: without it the tiles had a hole, and the last one is the frontier. */
function end(form: Form, from: string): string {
  return guarded(
    form,
    'tiles stay',
    `update task_range r set state = 6, n = 0, done = now() where r.topic = $1 and r.lo = any (array(select lo from ${from}))`,
    `delete from task_range r where r.topic = $1 and r.lo = any (array(select lo from ${from}))`,
  )
}

/**
 * Bounds that an index can use, whatever order the planner joins in. A plan that was made while both tables were small may begin with the tasks or the
 * ranges, and would read all of them for ever: so ranges are always looked up by `= any`, and tasks between bounds.
 */
function within(ranges: string, task: string): string {
  return `${task}.sequence >= (select min(lo) from ${ranges}) and ${task}.sequence <= (select max(hi) from ${ranges})`
}

/**
 * COMPLETE ALL of ranges: `$1` topic, `$2` lo, `$3` how many of each, `$4` token, `$5` sequences that did not simply succeed, `$6` their states; returns
 * the ranges that were held. If `n` fits, no task has left; otherwise nothing is done, and SOME tells task by task what was lost.
 */
export function completeAll(form: Form): string {
  const held = `held as materialized (
      select r.lo, r.hi, r.n, r.owner, r.leased from task_range r
       where r.topic = $1 and r.lo = any ($2::int8[]) and r.state = 0 and ${guarded(form, 'token', 'r.token = $4::int8', '$4::int8 is not null')}
         and ${guarded(form, 'n in the fence', 'r.n = ($3::int[])[array_position($2::int8[], r.lo)]', '$3::int[] is not null')}
       order by r.topic, r.lo for no key update)`
  const changed = `state = coalesce(u.s, 6), listed = coalesce(u.s = 1, false), attempt = 1, tries = 1, started = h.leased,
             owner = case when u.s = 1 then null else h.owner end, completed = case when u.s = 1 then null else now() end`
  if (form.record === 'outcomes') {
    return `
    with ${held},
    alike as (
      update task t set state = 6, attempt = 1, tries = 1, started = h.leased, owner = h.owner, completed = now()
        from held h where cardinality($5::int8[]) = 0 and t.topic = $1 and t.sequence between h.lo and h.hi and t.state is null
         and ${within('held', 't')}),
    mixed as (
      update task t set ${changed}
        from held h, task k left join unnest($5::int8[], $6::int[]) u (q, s) on u.q = k.sequence
       where cardinality($5::int8[]) > 0 and k.topic = $1 and k.sequence between h.lo and h.hi and k.state is null
         and ${within('held', 'k')} and ${within('held', 't')}
         and t.topic = $1 and t.sequence = k.sequence and t.state is null),
    done as (${end(form, 'held')})
    select lo from held`
  }
  return `
    with ${held},
    rows as (
      update task t set ${changed} from held h, unnest($5::int8[], $6::int[]) u (q, s)
       where t.topic = $1 and t.sequence = u.q and u.q between h.lo and h.hi and t.state is null returning h.lo),
    done as (
      update task_range r set state = 6, done = now(), n = r.n - (select count(*)::int from rows w where w.lo = r.lo)
       where r.topic = $1 and r.lo = any (array(select lo from held)))
    select lo from held`
}

/** SOME of a range: `$1` topic, `$2` lo, `$3` token, `$4` sequences, `$5` states; returns those that were held. Each is written to its row. */
export const completeSome = `
    with held as materialized (
      select r.lo, r.hi, r.owner, r.leased from task_range r where r.topic = $1 and r.lo = $2 and r.token = $3 and r.state = 0 for no key update),
    rows as (
      update task t set state = u.s, listed = u.s = 1, attempt = 1, tries = 1, started = h.leased,
             owner = case when u.s = 1 then null else h.owner end, completed = case when u.s = 1 then null else now() end
        from held h, unnest($4::int8[], $5::int[]) u (q, s)
       where t.topic = $1 and t.sequence = u.q and u.q between h.lo and h.hi and t.state is null returning t.sequence),
    less as (
      update task_range r set n = r.n - (select count(*)::int from rows), state = case when r.n = (select count(*) from rows) then 6 else 0 end, done = now()
       where r.topic = $1 and r.lo = any (array(select lo from held)))
    select sequence from rows`

/** HAND BACK whole ranges: `$1` topic, `$2` lo, `$3` token. Their tasks come back listed, and the try is refunded. */
export function handBack(form: Form): string {
  return `
    with held as materialized (
      select r.lo, r.hi from task_range r where r.topic = $1 and r.lo = any ($2::int8[]) and r.token = $3 and r.state = 0 order by r.lo for no key update),
    rows as (
      update task t set state = 1, listed = true, attempt = 1, tries = 0 from held h
       where t.topic = $1 and t.sequence between h.lo and h.hi and t.state is null and ${within('held', 't')}),
    done as (${end(form, 'held')})
    select lo from held`
}

/** HOLD: `$1` topic, `$2` lo, `$3` token; returns range and `n`, locked until the transaction ends. */
export const hold = `
    select r.lo, r.n from task_range r where r.topic = $1 and r.lo = any ($2::int8[]) and r.token = $3 and r.state = 0 order by r.lo for no key update`

/** Which tasks a range still speaks for, after HOLD: `$1` topic, `$2` lo. */
export const stillThere = `
    select t.sequence from task_range r join task t on t.topic = $1 and t.sequence between r.lo and r.hi and t.state is null where r.topic = $1 and r.lo = $2`

/** EXPIRE: `$1` topic, `$2` milliseconds without a heartbeat after which an owner is dead. Twenty ranges at a time. */
export function expire(form: Form): string {
  return `
    with gone as materialized (
      select r.lo, r.hi from task_range r where r.topic = $1 and r.state = 0
         and not exists (select from task_owner o where o.owner = r.owner and o.heartbeat > now() - $2 * interval '1 ms')
       order by r.topic, r.lo limit 20 for no key update skip locked),
    rows as (
      update task t set state = 1, listed = true, attempt = 1, tries = 1, reason = 1 from gone h
       where t.topic = $1 and t.sequence between h.lo and h.hi and t.state is null and ${within('gone', 't')}),
    done as (${end(form, 'gone')})
    select lo from gone`
}

/** PURGE: `$1` topic, `$2` a number; deletes what ended in the done range that it is in. The range stays, as a tile; rows that others have locked stay. */
export const purge = `
    with done as materialized (
      select r.lo, r.hi from task_range r where r.topic = $1 and r.state = 6 and r.lo <= $2 and r.hi >= $2
       order by r.topic desc, r.lo desc limit 1 for no key update),
    free as materialized (
      select t.sequence from done d, task t
       where t.topic = $1 and t.sequence between d.lo and d.hi and coalesce(t.state in (3, 5, 6, 7), true) for update of t skip locked),
    gone as (
      delete from task t where t.topic = $1 and t.sequence = any (array(select sequence from free)) and coalesce(t.state in (3, 5, 6, 7), true)
      returning (select lo from done) as lo, t.state),
    less as (
      update task_range r set n = r.n - c.c from (select lo, count(*)::int as c from gone where state is null group by lo) c
       where r.topic = $1 and r.lo = c.lo)
    select count(*)::int as purged from gone`
