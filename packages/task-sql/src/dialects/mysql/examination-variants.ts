/** How MariaDB and MySQL say differently what is looked at. */
import { look } from '../../core/examination.ts'
import type { Look, LookName, Looks } from '../../core/examination.ts'
import { raw, sql, statementOf } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { MysqlTables } from './schema.ts'

/** The right to see the transactions of other users, and the figures of InnoDB. */
export const seeProcesses = 'process on *.*'

export interface MysqlExaminationVariant {
  /** The look at the server's version. */
  readonly version: LookName
  /** Selects a figure of the server. */
  status(name: string): Statement
  limited(statement: Statement, limitMs: number): Statement
  readonly historyList: Look
  /** Selects which transaction waits (`waiting`) for which (`blocking`), if the server tells everybody who sees transactions. */
  readonly lockWaits: Statement | undefined
  looks(tables: MysqlTables): Looks
}

const mariadbStatus = (name: string): Statement =>
  sql`select s.variable_value from information_schema.global_status s where s.variable_name = ${name}`

export const mariadbExamination: MysqlExaminationVariant = {
  version: 'mariadb-version',
  status: mariadbStatus,
  limited: (statement, limitMs) => sql`set statement max_statement_time = ${raw(String(limitMs / 1000))} for ${statement}`,
  historyList: look(sql`select (${mariadbStatus('Innodb_history_list_length')}) + 0 as value`),
  lockWaits: raw(
    'select requesting_trx_id as waiting, min(blocking_trx_id) as blocking from information_schema.innodb_lock_waits group by requesting_trx_id',
  ),
  looks: (tables) => galeraLooks(tables, mariadbStatus),
}

export const mysqlExamination: MysqlExaminationVariant = {
  version: 'mysql-version',
  status: (name) => sql`select s.variable_value from performance_schema.global_status s where s.variable_name = ${name}`,
  limited: ({ texts, values }, limitMs) => {
    const [first = '', ...rest] = texts
    return statementOf([first.replace(/^\s*select\b/, `select /*+ MAX_EXECUTION_TIME(${limitMs}) */`), ...rest], values)
  },
  historyList: look(
    sql`select m.count as value from information_schema.innodb_metrics m where m.name = 'trx_rseg_history_len'`,
    seeProcesses,
  ),
  lockWaits: undefined,
  looks: () => ({}),
}

/** Looks at a node of a cluster of Galera. Elsewhere they find nothing. */
function galeraLooks({ node, owner }: MysqlTables, status: (name: string) => Statement): Looks {
  const inCluster = sql`(${status('wsrep_cluster_size')}) > 0`
  return {
    'cluster-state': look(sql`
      select x.state, case when x.state = 'Synced' then 0 else 1 end as value
        from (select (${status('wsrep_local_state_comment')}) as state) x
       where ${inCluster} and x.state is not null`),
    // Transactions are counted in both directions since the server was started. A few are the cluster's own.
    'cluster-writers': look(sql`
      select x.node, x.size, 1 as value
        from (select n.name as node, least((${status('wsrep_received')}) + 0, (${status('wsrep_replicated')}) + 0) as size
                from ${node} n
                join ${owner} o on o.owner = n.owner
               where n.topics like '%"mode":"transactional"%'
                 and o.heartbeat >= timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000 - 86400000
               order by n.seen desc
               limit 10) x
       where ${inCluster} and x.size > 0`),
    'cluster-flow': look(sql`
      select x.paused + 0 as value
        from (select (${status('wsrep_flow_control_paused')}) as paused) x
       where ${inCluster} and x.paused is not null`),
  }
}
