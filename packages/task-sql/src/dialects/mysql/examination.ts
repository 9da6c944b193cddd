import { look } from '../../core/examination.ts'
import type { Examination, Look, Looks } from '../../core/examination.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { MysqlTables } from './schema.ts'
import { rightsOfWorker } from './rights.ts'
import { seeProcesses } from './examination-variants.ts'
import type { MysqlVariant } from './variants.ts'

/** Names of our tables. The table of migrations has the collation of its database. */
const ours = raw(
  [
    'task',
    'task_topic',
    'task_owner',
    'task_turn',
    'task_lane',
    'task_activation',
    'task_periodic',
    'task_result',
    'task_attempt',
  ]
    .concat(['task_dependency', 'task_limit', 'task_slot', 'task_node', 'task_audit'])
    .map((name) => `'${name}'`)
    .join(', '),
)

/**
 * Looks at MariaDB or MySQL.
 *
 * @param schema the name of the tables' database, as an expression
 */
export function mysqlExamination(tables: MysqlTables, schema: Statement, variant: MysqlVariant): Partial<Examination> {
  const { version, status, limited } = variant.examination
  const estimated = (name: string): Look =>
    look(sql`
      select coalesce(max(t.table_rows), 0) as value
        from information_schema.tables t
       where t.table_schema = ${schema} and t.table_name = ${name}`)
  const looks: Looks = {
    [version]: look(sql`select version() as version, ${numberOfVersion} as value`),
    'read-only': look(sql`select case when @@global.read_only = 0 then 0 else 1 end as value, 'read-only' as state`),
    history: estimated('task'),
    attempts: estimated('task_attempt'),
    'storage-engine': look(sql`
      select t.table_name as name, t.engine as setting, 1 as value, concat('alter table ', t.table_name, ' engine = InnoDB') as remedy
        from information_schema.tables t
       where t.table_schema = ${schema} and t.table_name in (${ours}) and t.engine <> 'InnoDB'
       order by t.table_name`),
    collation: look(sql`
      select c.table_name as name, c.column_name as part, c.collation_name as setting, 1 as value,
             concat('alter table ', c.table_name, ' convert to character set utf8mb4 collate ', ${variant.definitions.collation}) as remedy
        from information_schema.columns c
       where c.table_schema = ${schema} and c.table_name in (${ours}) and c.collation_name <> ${variant.definitions.collation}
         and c.data_type = 'varchar'
       order by c.table_name, c.ordinal_position
       limit 20`),
    'history-list': variant.examination.historyList,
    'transaction-open': look(
      sql`
      select x.trx_mysql_thread_id as pid, p.user as username, p.command as state,
             timestampdiff(second, x.trx_started, ${serverNow}) * 1000 as value, concat('kill ', x.trx_mysql_thread_id) as remedy
        from information_schema.innodb_trx x
        left join information_schema.processlist p on p.id = x.trx_mysql_thread_id
       where x.trx_mysql_thread_id <> connection_id() and x.trx_mysql_thread_id <> 0
         and x.trx_state <> 'LOCK WAIT'
       order by x.trx_started
       limit 10`,
      seeProcesses,
    ),
    'lock-waits': look(lockWaits(variant.examination.lockWaits), seeProcesses),
    'flush-log': look(
      raw(`
      select case when @@global.innodb_flush_log_at_trx_commit = 1 then 0 else 1 end as value,
             @@global.innodb_flush_log_at_trx_commit as setting,
             'set global innodb_flush_log_at_trx_commit = 1' as remedy`),
    ),
    connections: look(sql`
      select x.used, x.most, x.used / x.most as value
        from (select (${status('Threads_connected')}) + 0 as used, @@global.max_connections as most) x`),
    ...variant.examination.looks(tables),
  }
  return {
    // The transaction has written nothing yet. To begin another commits it.
    begin: () => [raw('start transaction read only')],
    limited,
    damaged: (error) => damage.has(Number((error as { errno?: unknown }).errno)),
    user: raw(
      `select concat("'", replace(substring_index(current_user(), '@', 1), "'", "''"), "'@'", substring_index(current_user(), '@', -1), "'") as name`,
    ),
    probes: rightsOfWorker(tables),
    looks,
  }
}

/** ER_NOT_KEYFILE, ER_CRASHED_ON_USAGE, ER_INDEX_CORRUPT, ER_TABLE_CORRUPT */
const damage = new Set([1034, 1194, 1712, 1877])

/** A version as a number with the minor version in hundredths: 10.06 for 10.6. */
const numberOfVersion = raw(
  `substring_index(version(), '.', 1) + substring_index(substring_index(version(), '.', 2), '.', -1) / 100`,
)

/** Instants of transactions are in the server's zone. */
const serverNow = raw(`convert_tz(now(), @@session.time_zone, 'SYSTEM')`)

/** Who waits for a lock on our tables, and for whom. @param waits which transaction waits for which; without it, the one in the way is not named */
function lockWaits(waits: Statement | undefined): Statement {
  if (!waits)
    return sql`
      select x.trx_mysql_thread_id as pid, timestampdiff(second, x.trx_wait_started, ${serverNow}) * 1000 as value,
             'select * from sys.innodb_lock_waits' as remedy
        from information_schema.innodb_trx x
       where x.trx_state = 'LOCK WAIT' and x.trx_query like '%task%'
       order by x.trx_wait_started
       limit 10`
  return sql`
      select x.trx_mysql_thread_id as pid, timestampdiff(second, x.trx_wait_started, ${serverNow}) * 1000 as value,
             b.trx_mysql_thread_id as blocker,
             concat('for session ', b.trx_mysql_thread_id, coalesce(concat(' of ', p.user, ', ', p.command), '')) as whom,
             coalesce(concat('kill ', b.trx_mysql_thread_id), 'select * from information_schema.innodb_lock_waits') as remedy
        from information_schema.innodb_trx x
        left join (${waits}) w on w.waiting = x.trx_id
        left join information_schema.innodb_trx b on b.trx_id = w.blocking
        left join information_schema.processlist p on p.id = b.trx_mysql_thread_id
       where x.trx_state = 'LOCK WAIT' and x.trx_query like '%task%'
       order by x.trx_wait_started
       limit 10`
}
