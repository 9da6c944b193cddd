/** Looks at sessions, their transactions and their locks, and at what keeps dead rows. */
import { look } from '../../../core/examination.ts'
import type { Look, Looks } from '../../../core/examination.ts'
import { raw, sql } from '../../../core/statement.ts'
import type { Statement } from '../../../core/statement.ts'
import type { PostgresTables } from '../tables.ts'
import { seeAll, seesAll, withOurs } from './relations.ts'

const sinceMs = (instant: string): Statement =>
  raw(`(extract(epoch from pg_catalog.clock_timestamp() - ${instant}) * 1000)::float8`)

export function sessionLooks(tables: PostgresTables): Looks {
  return {
    // Who waits for a lock is left out: `lock-waits` tells of it, with the one in the way.
    'transaction-open': ofSessions(sql`
      select a.pid, a.application_name as application, a.usename as username, a.state,
             ${sinceMs('a.xact_start')} as value,
             'select pg_terminate_backend(' || a.pid || ')' as remedy
        from pg_catalog.pg_stat_activity a
       where a.datname = pg_catalog.current_database()
         and a.pid <> pg_catalog.pg_backend_pid()
         and a.xact_start is not null
         and (a.backend_xid is not null or a.backend_xmin is not null)
         and a.wait_event_type is distinct from 'Lock'
       order by a.xact_start
       limit 10`),
    'transaction-prepared': look(sql`
      select x.gid, x.owner as username, ${sinceMs('x.prepared')} as value, pg_catalog.format('rollback prepared %L', x.gid) as remedy
        from pg_catalog.pg_prepared_xacts x
       where x.database = pg_catalog.current_database()
       order by x.prepared
       limit 10`),
    // The server tells from release 17 on since when a slot is inactive.
    'replication-slot': look(sql`
      select s.slot_name as name, s.slot_type as kind,
             pg_catalog.age(coalesce(s.xmin, s.catalog_xmin)) as transactions,
             ${sinceMs(`(pg_catalog.to_jsonb(s) ->> 'inactive_since')::timestamptz`)} as value,
             pg_catalog.format('select pg_drop_replication_slot(%L)', s.slot_name) as remedy
        from pg_catalog.pg_replication_slots s
       where not s.active
         and (s.xmin is not null or s.catalog_xmin is not null)
         and coalesce(s.database, pg_catalog.current_database()) = pg_catalog.current_database()
       order by pg_catalog.age(coalesce(s.xmin, s.catalog_xmin)) desc
       limit 10`),
    'lock-waits': ofSessions(sql`
      ${withOurs(tables)}
      select l.pid, a.application_name as application, a.usename as username, ${sinceMs('l.waitstart')} as value,
             b.pid as blocker,
             'for session ' || b.pid || coalesce(' of ' || b.usename, '') || coalesce(nullif(' ' || b.application_name, ' '), '') || coalesce(', ' || b.state, '') as whom,
             'select pg_terminate_backend(' || b.pid || ')' as remedy
        from pg_catalog.pg_locks l
        left join pg_catalog.pg_stat_activity a on a.pid = l.pid
        cross join lateral (
             select o.pid, s.usename, s.application_name, s.state
               from pg_catalog.unnest(pg_catalog.pg_blocking_pids(l.pid)) o (pid)
               left join pg_catalog.pg_stat_activity s on s.pid = o.pid
              order by s.wait_event_type is not distinct from 'Lock', o.pid
              limit 1) b
       where not l.granted
         and l.waitstart is not null
         and exists (select from pg_catalog.pg_locks m join ours on ours.oid = m.relation
                      where m.pid = l.pid
                        and m.database = (select d.oid from pg_catalog.pg_database d where d.datname = pg_catalog.current_database()))
       order by l.waitstart
       limit 10`),
    connections: look(sql`
      select x.used, x.most, x.used::float8 / x.most as value
        from (select (select sum(s.numbackends) from pg_catalog.pg_stat_database s)::int8 as used,
                     pg_catalog.current_setting('max_connections')::int8
                       - pg_catalog.current_setting('superuser_reserved_connections')::int8 as most) x`),
  }
}

/** A look at sessions. The server shows a user without the right the sessions of its own role only. */
function ofSessions(statement: Statement): Look {
  return {
    read: function* () {
      const rows = yield statement
      const [rights] = yield sql`select case when ${seesAll} then 0 else 1 end as hidden`
      return Number(rights?.['hidden']) === 1 ? [...rows, { hidden: 1 }] : rows
    },
    grant: seeAll,
  }
}
