import { raw, sql } from '../../../core/statement.ts'
import type { Statement } from '../../../core/statement.ts'
import type { PostgresTables } from '../tables.ts'
import { needs } from '../rights.ts'

/** Our tables and partitions `c`, as a common table expression `ours` with their quoted names. */
export function withOurs({ schema, taskName }: PostgresTables): Statement {
  return sql`
    with ours as (
      select c.oid, c.relkind, c.reltuples, c.reloptions, pg_catalog.format('%I.%I', n.nspname, c.relname) as name
        from pg_catalog.pg_class c
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p')
         and (c.relnamespace = pg_catalog.to_regnamespace(${schema}) and c.relname = any (${namesOfOurs}::text[])
              or c.oid in (select i.inhrelid from pg_catalog.pg_inherits i where i.inhparent = pg_catalog.to_regclass(${taskName}))))`
}

const namesOfOurs = `{${Object.keys(needs).join(',')}}`

/** True if this user sees what other users' sessions do. */
export const seesAll: Statement = raw(`pg_catalog.pg_has_role('pg_read_all_stats', 'usage')`)

/** The right to see them. */
export const seeAll = 'pg_read_all_stats'
