import type { Form } from '../guards.ts'
import { guarded } from '../guards.ts'

/**
 * MERGE: `$1` topic, `$2` how many ranges are looked at, `$3` from which number on; returns how many are fewer, and how far it came. Done ranges side by
 * side become one. A range that is held, missing or locked by another stands between, and nothing is merged across it.
 */
export function merge(form: Form): string {
  const done = guarded(form, 'merge breaks at missing', 'state = 6', 'state in (6, 9)')
  const isBeside = guarded(form, 'merge breaks at held', 'b.before is distinct from b.lo - 1', 'b.before is null')
  return `
    with seen as materialized (
      select r.lo, r.hi, r.n, r.done from task_range r where r.topic = $1 and r.lo >= $3 and ${done}
       order by r.topic, r.lo limit $2 for no key update skip locked),
    beside as (select *, lag(hi) over (order by lo) as before from seen),
    runs as (select *, count(*) filter (where ${isBeside}) over (order by lo) as run from beside b),
    merged as materialized (select min(lo) as lo, max(hi) as hi, sum(n)::int as n, max(done) as done, count(*)::int as c from runs group by run having count(*) > 1),
    gone as (delete from task_range r using runs m, merged k where r.topic = $1 and r.lo = m.lo and m.lo > k.lo and m.hi <= k.hi),
    grown as (update task_range r set hi = k.hi, n = k.n, done = k.done, state = 6 from merged k where r.topic = $1 and r.lo = k.lo)
    select coalesce((select sum(c) - count(*) from merged), 0)::int as fewer, (select max(lo) from seen) as last, (select count(*)::int from seen) as looked`
}
