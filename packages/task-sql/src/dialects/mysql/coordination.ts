import type { CoordinationStatements } from '../../core/coordination-statements.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { MysqlVariant } from './variants.ts'

/** The tables of coordination, beside those of tasks. @param schema the name of their database, as an expression */
export function mysqlCoordination(
  table: (name: string) => Statement,
  schema: Statement,
  { definitions, idleSetting }: Pick<MysqlVariant, 'definitions' | 'idleSetting'>,
): CoordinationStatements {
  const tokenHolder = table('token_holder')
  const healthCheck = table('health_check')
  const text = raw(`varchar(255) character set utf8mb4 collate ${definitions.collation} not null`)
  return {
    tokenHolder,
    healthCheck,
    found: sql`
      select case min(coalesce(datetime_precision, 6)) when 0 then 1000 else 0 end as resolution
        from information_schema.columns
       where table_schema = ${schema} and table_name in ('token_holder', 'health_check')
       group by table_name`,
    create: [
      sql`create table if not exists ${tokenHolder} (group_id ${text} primary key, task_id ${text}, term integer not null)`,
      sql`
        create table if not exists ${healthCheck} (
          task_id ${text},
          group_id ${text},
          last_heartbeat timestamp(6) not null default current_timestamp(6),
          primary key (task_id, group_id)
        )`,
    ],
    now: raw('current_timestamp(6)'),
    textOf: (heartbeat) => sql`cast(unix_timestamp(${heartbeat}) as char)`,
    shared: raw('lock in share mode'),
    alone: raw('for update skip locked'),
    limitIdle: (idleMs) => [raw(`set session ${idleSetting} = ${Math.max(1, Math.floor(idleMs / 1_000))}`)],
  }
}
