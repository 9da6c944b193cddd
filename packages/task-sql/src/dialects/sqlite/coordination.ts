import type { CoordinationStatements } from '../../core/coordination-statements.ts'
import { raw, sql } from '../../core/statement.ts'

/** The tables of coordination. One transaction writes at a time, so nothing has to be locked. */
export const sqliteCoordination: CoordinationStatements = {
  tokenHolder: raw('token_holder'),
  healthCheck: raw('health_check'),
  // An insertion that has no key to go by is refused, and columns have no length: neither need be looked for.
  found: raw(
    `select 0 as resolution, 255 as id_length, 1 as is_keyed from sqlite_master where type = 'table' and name in ('token_holder', 'health_check')`,
  ),
  create: [
    sql`create table if not exists token_holder (group_id varchar(255) primary key, task_id varchar(255) not null, term integer not null)`,
    sql`
      create table if not exists health_check (
        task_id varchar(255) not null,
        group_id varchar(255) not null,
        last_heartbeat timestamp not null,
        primary key (task_id, group_id)
      )`,
  ],
  now: raw(`strftime('%Y-%m-%d %H:%M:%f', 'now')`),
  textOf: (heartbeat) => heartbeat,
  limitIdle: () => [],
}
