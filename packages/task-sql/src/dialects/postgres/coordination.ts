import { quote } from './tables.ts'
import type { CoordinationStatements } from '../../core/coordination-statements.ts'
import { raw, sql } from '../../core/statement.ts'

/** The tables of coordination in a schema, which has been checked. */
export function postgresCoordination(schema: string): CoordinationStatements {
  const tokenHolder = raw(`${quote(schema)}.token_holder`)
  const healthCheck = raw(`${quote(schema)}.health_check`)
  return {
    tokenHolder,
    healthCheck,
    // An insertion that has no key to go by, or is too long, is refused: that need not be looked for.
    found: sql`
      select case a.atttypmod when 0 then 1000 else 0 end as resolution, 255 as id_length, 1 as is_keyed
        from pg_catalog.pg_class c
        join pg_catalog.pg_namespace n on n.oid = c.relnamespace
        left join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attname = 'last_heartbeat'
       where n.nspname = ${schema} and c.relname in ('token_holder', 'health_check')`,
    create: [
      sql`create table if not exists ${tokenHolder} (group_id varchar(255) primary key, task_id varchar(255) not null, term integer not null)`,
      sql`
        create table if not exists ${healthCheck} (
          task_id varchar(255) not null,
          group_id varchar(255) not null,
          last_heartbeat timestamp not null,
          primary key (task_id, group_id)
        ) with (fillfactor = 50)`,
    ],
    now: raw('pg_catalog.clock_timestamp()'),
    // The column may be with or without a time zone: the number is read, never compared with the time of now.
    textOf: (heartbeat) => sql`extract(epoch from ${heartbeat})::text`,
    // A shorter limit, of whoever runs the server, stays.
    limitIdle: (idleMs) => [
      sql`
        select pg_catalog.set_config('idle_in_transaction_session_timeout', ${String(idleMs)}, true)
          from pg_catalog.current_setting('idle_in_transaction_session_timeout') as s (now)
         where s.now = '0' or s.now::interval > ${`${idleMs} ms`}::interval`,
    ],
  }
}
