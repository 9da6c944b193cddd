import { checkNames, optionNames, TaskError } from '@taskstream/task-api'
import { defineDialect } from '../../core/define-dialect.ts'
import { limit } from '../shared/row-locks.ts'
import { blockedUntilMs } from '../../core/blocked.ts'
import type { Dialect, OpenState } from '../../core/dialect.ts'
import { mysqlCoordination } from './coordination.ts'
import { mysqlExamination } from './examination.ts'
import { mysqlMigrations, mysqlTables, tableIn } from './schema.ts'
import type { MysqlTables } from './schema.ts'
import { transactionScript } from '../shared/script.ts'
import { states } from '../../core/states.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Verb } from '../../core/verb.ts'
import { claimByKey } from '../shared/claim-by-key.ts'
import { openMissing } from '../shared/lock-stripes.ts'
import { classifyMysqlError } from './errors.ts'
import { lockFirst } from './lock-first.ts'
import { lockStripes, openStripes } from './lock-stripes.ts'
import { leftBytes } from './room-step.ts'
import { keysOf } from './values.ts'
import { mariadbVariant, mysqlVariant } from './variants.ts'
import type { MysqlVariant } from './variants.ts'
import { mysqlWrites } from './writes.ts'
import { otherServer } from './other-server.ts'

export interface MysqlOptions {
  /** The database of the tables, 1 to 40 letters, digits and underscores. It must exist. Default: the connection's database. */
  readonly database?: string
}

const names = optionNames<MysqlOptions>('mariadb and mysql', { database: true })

/**
 * MariaDB 10.6 and later.
 *
 * @throws TaskError ARGUMENT_INVALID unless the database's name is 1 to 40 letters, digits and underscores
 * @example
 * const tasks = sqlTaskRepository({ dialect: mariadb(), adapter: fromMysql2 })
 */
export function mariadb(options: MysqlOptions = {}): Dialect {
  return dialectOf(options, mariadbVariant)
}

/**
 * MySQL 8 and later.
 *
 * @throws TaskError ARGUMENT_INVALID unless the database's name is 1 to 40 letters, digits and underscores
 * @example
 * const tasks = sqlTaskRepository({ dialect: mysql(), adapter: fromMysql2 })
 */
export function mysql(options: MysqlOptions = {}): Dialect {
  return dialectOf(options, mysqlVariant)
}

const nowMs = raw(`(timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000)`)
const now = (clock: number | null): Statement => (clock === null ? nowMs : sql`${clock}`)

/**
 * A claim takes its rows off the ready list, whose indexes do not have the state: polls would pass over every active task that is still listed. It
 * gives up the room that the owner and the start need.
 */
const alsoSet = raw(`listed = 0, room = left(room, ${leftBytes}), `)

function dialectOf(options: MysqlOptions, variant: MysqlVariant): Dialect {
  checkNames(names, options)
  const { database } = options
  const tables = mysqlTables(database)
  const schema = database === undefined ? raw('database()') : sql`${database}`
  const { writes, locks, paths, update } = mysqlWrites(tables, variant)
  return defineDialect({
    system: variant.system,
    tables,
    schema: {
      migrations: mysqlMigrations(tables, variant.definitions),
      // Each definition commits, and may be run again, so concurrent migrations need not wait for each other.
      begin: [
        sql`create table if not exists ${tables.migration} (version integer primary key, name text not null, applied text not null, works_from integer)`,
      ],
      script: transactionScript,
      find: () => findTables(schema, variant),
    },
    expr: {
      now,
      text: (value) => value,
      jsonArray: (values) => sql`convert(json_array(${values}) using utf8mb4)`,
      rows: variant.rows,
      conditionColumn: '`condition`',
      limit,
      latest: variant.latest,
      shared: raw('lock in share mode'),
      alone: raw('for update skip locked'),
    },
    paths: {
      ...paths,
      // The order leaves out the topic, which is the same in all rows. With the topic MariaDB would sort, and a sort locks all rows that it
      // may return.
      orderBy: (order) => orders[order],
      inOrder: sql`${tables.task} t force index (primary)`,
      inReadyList: (order) => sql`${tables.task} t force index (${raw(order === 'priority' ? 'task_ranked' : 'task_listed')})`,
      // The index is named, because MariaDB would otherwise read the whole topic by the primary key for each identifier.
      attempts: (by, name = 't') => sql`${tables.attempt} ${raw(name)} force index (${raw(`task_attempt_${by}`)})`,
      byDue: (topic, which) =>
        sql`${tables.task} t force index (task_due) where t.topic = ${topic} and t.due is not null and ${which} order by t.due`,
      identified: (name) => sql`${tables.task} ${raw(name)} force index (task_identifier)`,
      among: (column, values) => sql`${column} in (select w.wanted from ${keysOf(values)})`,
      placeOf: (column, values) => sql`find_in_set(${column}, ${values.join(',')})`,
    },
    writes,
    locks: {
      ...locks,
      ...lockStripes(tables, variant),
      // Who has locked a row only a user with the right PROCESS may ask, so the row is locked unless others have done so.
      lockedBy: function* (topic, sequence) {
        const rows = yield sql`
          select 1 as free
            from ${tables.task} t force index (primary)
           where t.topic = ${topic} and t.sequence = ${sequence}
           ${variant.latest} skip locked`
        return rows.length > 0 ? undefined : {}
      },
      ...(variant.locksChecked && { check: variant.locksChecked() }),
    },
    claims: {
      plain: claimByKey({ tables, lockFirst: lockFirst(tables, variant), now, update, alsoSet }),
      alsoSet,
      countOpen: (state, limit) => countOpen(tables, state, limit),
      oldestReady: sql`
        (select t.created
           from ${tables.task} t force index (task_open)
          where t.topic = p.topic and t.state = ${states.ready}
          order by t.sequence
          limit 1)`,
      firstReady: (topic, limit) => sql`
        select t.sequence
          from ${tables.task} t force index (task_open)
         where t.topic = ${topic} and t.state = ${states.ready}
         order by t.sequence
         limit ${limit}`,
      // A condition on what another row has is no range of an index here, and whether `group by` skips rows depends on statistics. So each step is a
      // statement.
      nextIdentifiers: function* (topic, after, limit) {
        const identifiers: string[] = []
        for (let last = after; identifiers.length < limit; last = identifiers.at(-1)) {
          const [row] = yield sql`
            select t.identifier
              from ${tables.task} t force index (task_identifier)
             where t.topic = ${topic}${last === undefined ? nothing : sql` and t.identifier > ${last}`}
             order by t.identifier
             limit 1`
          if (!row) break
          identifiers.push(String(row['identifier']))
        }
        return identifiers
      },
      // The select locks no rows, because it would lock the topics' rows too. The change that follows checks the tasks again.
      claimedBy: (condition, limit) => sql`
        select t.topic, t.sequence, t.owner
          from ${tables.topic} p
          straight_join ${tables.task} t force index (task_open) on t.topic = p.topic and t.state = ${states.active}
         where ${condition(raw('t.owner'))}
         limit ${limit}`,
    },
    repair: {
      renewTopic: (topic, keyed) => openMissing(tables.lane, topic, keyed ? openStripes(tables, topic) : []),
      advanceSequence: () => variant.advanceSequence(tables),
    },
    topics: {
      open: (topic, { keyed }) => (keyed ? openStripes(tables, topic) : []),
      close: (topic) => [writes.removeOf(tables.lane, topic)],
    },
    session: {
      limitSession: (timeoutMs) => ({
        begin: [
          raw(`set @taskstream_statement_time = @@session.${variant.timeSetting}`),
          // Somebody's own limit stays.
          sql`set session ${raw(variant.timeSetting)} = if(@taskstream_statement_time = 0, ${raw(variant.timeOf(timeoutMs))}, @taskstream_statement_time)`,
        ],
        end: [raw(`set session ${variant.timeSetting} = @taskstream_statement_time`)],
      }),
    },
    examination: mysqlExamination(tables, schema, variant),
    coordination: mysqlCoordination(tableIn(database), schema, variant),
    // `refresh` does nothing: it would end the caller's transaction, and InnoDB renews statistics by itself.
    classify: classifyMysqlError,
  })
}

/** At higher levels MariaDB joins by a buffer, which returns rows in an order of its own. */
const highestJoins = 2

function* findTables(schema: Statement, { system, joins }: MysqlVariant): Verb<boolean> {
  const [row] = yield sql`
    select version() as version, ${joins} as joins, @@character_set_client as charset, @@sql_mode as mode,
           coalesce(sum(table_name = 'task_migration'), 0) as found,
           coalesce(sum(table_name in ('task_turn', 'task_lane')) > 0 or sum(table_name in ('task', 'task_topic', 'task_sequence')) = 3, 0) as others
      from information_schema.tables
     where table_schema = ${schema} and table_name in ('task_migration', 'task_turn', 'task_lane', 'task', 'task_topic', 'task_sequence')`
  const version = String(row?.['version'])
  // https://github.com/pingcap/tidb/issues/69720
  if (/tidb/i.test(version)) {
    throw new TaskError(
      'RUNTIME_UNSUPPORTED',
      `This server is ${version}: TiDB accepts FOR UPDATE SKIP LOCKED and locks nothing, so that two workers would be given the same task`,
      { found: version, needed: 'MariaDB 10.6 or MySQL 8' },
    )
  }
  if (system === 'mysql' && /mariadb/i.test(version)) throw otherServer(version, 'mariadb')
  const level = Number(row?.['joins'])
  if (level > highestJoins) {
    throw new TaskError(
      'RUNTIME_UNSUPPORTED',
      `This server has join_cache_level = ${level}, by which it returns tasks out of their order: set it to ${highestJoins}, its default, at least for the sessions of taskstream`,
      { found: `join_cache_level = ${level}`, needed: `at most ${highestJoins}` },
    )
  }
  const charset = String(row?.['charset'])
  if (!charset.startsWith('utf8'))
    throw new TaskError(
      'RUNTIME_UNSUPPORTED',
      `This connection has the character set ${charset}, by which texts are lost: give its pool the charset utf8mb4`,
      { found: charset, needed: 'utf8mb4' },
    )
  // Drivers put a backslash before what would end a text, which this mode takes for a character of it.
  if (String(row?.['mode']).includes('NO_BACKSLASH_ESCAPES'))
    throw new TaskError(
      'RUNTIME_UNSUPPORTED',
      'This connection has the sql_mode NO_BACKSLASH_ESCAPES, by which texts are not what drivers mean: take it out for the sessions of taskstream',
      { found: 'NO_BACKSLASH_ESCAPES', needed: 'sql_mode without it' },
    )
  // A user sees only tables on which it has a right. The table of migrations is made first: if only others are seen, a right is missing.
  if (Number(row?.['found']) === 0 && Number(row?.['others']) > 0) {
    throw new TaskError(
      'PERMISSION_DENIED',
      'This user may not read which version the tables are of: grant SELECT on task_migration to it, as an administrator',
      { needed: 'SELECT on task_migration' },
    )
  }
  return Number(row?.['found']) > 0
}

const orders = {
  fifo: raw('t.sequence'),
  lifo: raw('t.sequence desc'),
  priority: raw('t.urgency, t.sequence'),
  shared: raw('t.sequence'),
}

/**
 * Counts open tasks. A derived table cannot refer to the topic of the outer row, so its rows cannot be limited directly. The index on due times
 * serves only for a constant topic; for an outer row's topic it would be read with all rows that have none. So suspended rows are read instead.
 */
function countOpen({ task }: MysqlTables, state: OpenState, limit: number): Statement {
  const counted = sql`from ${task} n force index (task_open) where n.topic = p.topic and ${open[state]}`
  return sql`
    case
      when (select 1 ${counted} limit 1 offset ${limit - 1}) = 1 then ${limit}
      else (select count(*) ${counted})
    end`
}

const open = {
  ready: sql`n.state = ${states.ready}`,
  active: sql`n.state = ${states.active}`,
  delayed: sql`n.state = ${states.suspended} and n.due < ${raw(String(blockedUntilMs))}`,
}
