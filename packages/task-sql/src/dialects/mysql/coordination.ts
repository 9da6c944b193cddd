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
    // A key takes care that a group has one row. Otherwise each node that inserts one would lead.
    found: sql`
      select case min(coalesce(c.datetime_precision, 6)) when 0 then 1000 else 0 end as resolution,
             min(case when c.column_name in ('group_id', 'task_id') then c.character_maximum_length end) as id_length,
             exists (
               select 1
                 from information_schema.statistics s
                where s.table_schema = ${schema} and s.table_name = c.table_name and s.non_unique = 0
                group by s.index_name
               having group_concat(s.column_name order by s.column_name)
                      = case c.table_name when 'token_holder' then 'group_id' else 'group_id,task_id' end
             ) as is_keyed
        from information_schema.columns c
       where c.table_schema = ${schema} and c.table_name in ('token_holder', 'health_check')
       group by c.table_name`,
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
    limitIdle: (idleMs) => [raw(`set session ${idleSetting} = ${Math.max(1, Math.floor(idleMs / 1_000))}`)],
  }
}
