import { checkNames, optionNames, TaskError } from '@taskstream/task-api'
import { defineDialect } from '../../core/define-dialect.ts'
import { blockedUntilMs } from '../../core/blocked.ts'
import type { Dialect, OpenState } from '../../core/dialect.ts'
import { oracleMigrations, oracleMigrationTable, oracleTables } from './schema.ts'
import type { OracleTables } from './schema.ts'
import { states } from '../../core/states.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Verb } from '../../core/verb.ts'
import { claimByKey } from '../shared/claim-by-key.ts'
import { openMissing } from '../shared/lock-stripes.ts'
import { classifyOracleError } from './errors.ts'
import { oracleExamination } from './examination.ts'
import { openStripes, lockStripes } from './lock-stripes.ts'
import { keysOf, table } from './values.ts'
import { advanceOracleSequence } from './repair.ts'
import { oracleWrites } from './writes.ts'

export interface OracleOptions {
  /** The schema of the tables, 1 to 30 letters, digits and underscores. It must exist. Default: the connection's schema. */
  readonly schema?: string
  /**
   * Whether each topic has a partition of its own, which Oracle makes with the topic's first task. The option counts when `migrate` makes
   * the tables, and cannot be changed later. Default: false. It needs Enterprise Edition with the Partitioning option.
   */
  readonly partitioned?: boolean
}

const names = optionNames<OracleOptions>('oracle', { schema: true, partitioned: true })

/**
 * Oracle Database 19c and later. Its statements were checked one by one, and never run on a server (docs/decisions/oracle.md).
 *
 * @throws TaskError ARGUMENT_INVALID unless the schema's name is 1 to 30 letters, digits and underscores
 * @example
 * const tasks = sqlTaskRepository({ dialect: oracle(), adapter: fromOracledb(oracledb) })
 */
export function oracle(options: OracleOptions = {}): Dialect {
  checkNames(names, options)
  const { schema, partitioned = false } = options
  const tables = oracleTables(schema)
  const now = (clock: number | null): Statement => (clock === null ? sql`(select k.ms from ${tables.clock} k)` : sql`${clock}`)
  const { writes, locks, paths, update } = oracleWrites(tables)
  return defineDialect({
    system: 'oracle.db',
    tables,
    schema: {
      migrations: oracleMigrations(tables, partitioned),
      // Each definition commits, and may be run again, so concurrent migrations need not wait for each other.
      begin: [oracleMigrationTable(tables)],
      // A slash runs the statement or block before it.
      script: (statements) => [...statements, 'commit'].map((statement) => `${statement}\n/\n`).join('\n'),
      find: () => findTables(schema === undefined ? raw(`sys_context('userenv', 'current_schema')`) : sql`upper(${schema})`),
    },
    expr: {
      // There are no shared locks of rows.
      shared: raw('for update'),
      alone: raw('for update skip locked'),
      now,
      text: (value) => value,
      jsonArray: (values) => sql`json_array(${values} null on null returning clob)`,
      rows: (columns) => table('r', columns),
      // Oracle has no word for it.
      withRecursive: raw('with'),
      limit: (count) => sql`fetch first ${count} rows only`,
    },
    paths: {
      ...paths,
      orderBy: (order) => orders[order],
      // Oracle refuses a list of more than a thousand values (ORA-01795).
      among: (column, values) => sql`${column} in (select w.wanted from ${keysOf(values)})`,
      placeOf: (column, values) => sql`(select w.nth from ${keysOf(values)} where w.wanted = ${column})`,
    },
    writes,
    locks: {
      ...locks,
      ...lockStripes(tables),
    },
    claims: {
      plain: claimByKey({
        tables,
        now,
        update,
        lockFirst: ({ topic, size, columns }, which) =>
          locks.tasks(
            {
              topic,
              which: sql`t.state = ${states.ready} and ${which}`,
              first: { orderBy: raw('t.sequence'), limit: size },
              locked: 'skip',
            },
            columns,
          ),
      }),
      countOpen: (state, limit) => countOpen(tables, state, limit),
      oldestReady: sql`
        (select t.created
           from ${tables.task} t
          where t.topic = p.topic and t.state = ${states.ready}
          order by t.sequence
          fetch first 1 rows only)`,
      firstReady: (topic, limit) => sql`
        select t.sequence
          from ${tables.task} t
         where t.topic = ${topic} and t.state = ${states.ready}
         order by t.sequence
         fetch first ${limit} rows only`,
      // The select locks no rows, because it would lock the topics' rows too. The change that follows checks the tasks again.
      claimedBy: (condition, limit) => sql`
        select /*+ leading(p t) use_nl(t) index(t task_open) */ t.topic, t.sequence, t.owner
          from ${tables.topic} p
          join ${tables.task} t on t.topic = p.topic and t.state = ${states.active}
         where ${condition(raw('t.owner'))}
         fetch first ${limit} rows only`,
    },
    repair: {
      renewTopic: (topic, keyed) => openMissing(tables.lane, topic, keyed ? openStripes(tables, topic) : []),
      advanceSequence: () => advanceOracleSequence(tables),
    },
    topics: {
      open: (topic, { keyed }) => (keyed ? openStripes(tables, topic) : []),
      close: (topic) => [sql`delete from ${tables.lane} where topic = ${topic}`],
    },
    examination: oracleExamination(),
    // `refresh` does nothing: DBMS_STATS would commit the caller's transaction, and Oracle gathers statistics by itself.
    classify: classifyOracleError,
  })
}

const orders = {
  fifo: raw('t.sequence'),
  lifo: raw('t.sequence desc'),
  priority: raw('t.urgency, t.sequence'),
  shared: raw('t.sequence'),
}

/**
 * Finds the tables, and checks the database's settings. Unless its character set is Unicode's, some texts would come back as question
 * marks. Under a linguistic comparison two topics could be equal.
 */
function* findTables(owner: Statement): Verb<boolean> {
  const [row] = yield sql`
    select (select d.value from nls_database_parameters d where d.parameter = 'NLS_CHARACTERSET') as charset,
           (select s.value from nls_session_parameters s where s.parameter = 'NLS_COMP') as comparison,
           (select s.value from nls_session_parameters s where s.parameter = 'NLS_SORT') as sort,
           (select count(*) from all_tables a where a.owner = ${owner} and a.table_name = 'TASK_MIGRATION') as found
      from dual`
  const { charset, comparison, sort, found } = row ?? {}
  if (charset !== 'AL32UTF8')
    throw unsupported(`The database's character set is ${String(charset)}, which cannot keep every text`, charset, 'AL32UTF8')
  if (comparison !== 'BINARY' && sort !== 'BINARY') {
    const set = `NLS_COMP ${String(comparison)} with NLS_SORT ${String(sort)}`
    throw unsupported(`The session compares text by ${set}, so that different names may be the same`, set, 'NLS_COMP BINARY')
  }
  return Number(found) > 0
}

function unsupported(message: string, found: unknown, needed: string): TaskError {
  return new TaskError('RUNTIME_UNSUPPORTED', message, { found, needed })
}

/** Counts open tasks. The condition on ROWNUM stops the count at the limit. */
function countOpen({ task }: OracleTables, state: OpenState, limit: number): Statement {
  return sql`(select count(*) from ${task} t where t.topic = p.topic and ${open[state]} and rownum <= ${limit})`
}

const open = {
  ready: sql`t.state = ${states.ready}`,
  active: sql`t.state = ${states.active}`,
  delayed: sql`t.due < ${raw(String(blockedUntilMs))} and t.state = ${states.suspended}`,
}
