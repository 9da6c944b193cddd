import type { Form } from '../guards.ts'
import { gateAt, guarded } from '../guards.ts'
import { frontier } from './frontier.ts'

/**
 * PUSH: `$1` topic, `$2` identifiers, `$3` inputs; returns sequences. A block of 1024 numbers for each 1024 tasks. The transaction draws its id before its
 * number: so whoever sees a later block sees this one, or a transaction that is running.
 */
export function pushStatement(form: Form): string {
  return `
    with x as materialized (select ${guarded(form, 'id before number', 'pg_current_xact_id()', 'true')} as x),
    drawn as materialized (
      select o - 1 as nth, nextval('task_block_t') * 1024 as first
        from x, generate_series(1, (cardinality($2::text[]) + 1023) / 1024) o where x is not null),
    frontier as materialized (select coalesce(${frontier('$1')}, 1023) as at where ${gateAt(form, 'number')} and exists (select from drawn))
    insert into task (topic, sequence, identifier, input, state, listed)
    select $1, d.first + (u.o - 1) % 1024, u.i, u.p,
           ${guarded(form, 'set back', 'case when d.first > f.at then null else 1 end', 'null::int')},
           ${guarded(form, 'set back', 'd.first <= f.at', 'false')}
      from frontier f, drawn d, unnest($2::text[], $3::text[]) with ordinality u (i, p, o)
     where d.nth = (u.o - 1) / 1024
    returning sequence`
}
