import { blockedUntilMs } from '../../core/blocked.ts'
import type { Dialect, Tables } from '../../core/dialect.ts'
import { defineDialect } from '../../core/define-dialect.ts'
import { affected, changeHeld, held } from './held.ts'
import { claimPlain } from './claim.ts'
import { among, byKey, rows } from './values.ts'
import { sequencesOf } from '../../core/task-row.ts'
import { orderByTopic, writesReturning } from '../shared/writes-returning.ts'
import { limit, rowLocks } from '../shared/row-locks.ts'
import { migrationTable } from '../shared/migration-table.ts'
import { transactionScript } from '../shared/script.ts'
import { sqliteCoordination } from './coordination.ts'
import { sqliteExamination } from './examination.ts'
import { sqliteMigrations } from './schema.ts'
import { classifySqliteError } from './errors.ts'
import { states } from '../../core/states.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'

const tables: Tables = {
  task: raw('task'),
  topic: raw('task_topic'),
  owner: raw('task_owner'),
  migration: raw('task_migration'),
  turn: raw('task_turn'),
  activation: raw('task_activation'),
  periodic: raw('task_periodic'),
  result: raw('task_result'),
  attempt: raw('task_attempt'),
  dependency: raw('task_dependency'),
  limit: raw('task_limit'),
  slot: raw('task_slot'),
  node: raw('task_node'),
  audit: raw('task_audit'),
}

const returning = writesReturning({ tables, among, byKey, lock, held, affected })

/**
 * SQLite 3.45 and later. One transaction writes at a time, so sequences are committed in order. Polls need no more than a small
 * index of ready and active rows.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })
 */
export function sqlite(): Dialect {
  const { writes, locks, paths } = returning
  return defineDialect({
    system: 'sqlite',
    tables,
    schema: {
      migrations: sqliteMigrations,
      // The transaction is immediate, so it already has the only write lock.
      begin: [migrationTable(tables.migration)],
      script: transactionScript,
      find: function* () {
        return (yield raw(`select 1 as there from sqlite_master where name = 'task_migration'`)).length > 0
      },
    },
    expr: {
      now: (clock) => sql`coalesce(${clock}, cast(round(unixepoch('subsec') * 1000) as integer))`,
      jsonArray: (values) => sql`json_array(${values})`,
      rows,
      limit,
    },
    paths: {
      byKey,
      ...paths,
      byIdentifiers: (topic, identifiers) =>
        sql`${tables.task} t where t.topic = ${topic} and t.stage is not null and ${among(raw('t.identifier'), identifiers)}`,
      orderBy: orderByTopic,
      // The index is named, because with statistics SQLite would read all topics by sequence until it has found enough rows.
      inOrder: raw('task t indexed by task_topic_sequence'),
      among,
      placeOf: (column, values) => sql`(select key from json_each(${JSON.stringify(values)}) where value = ${column})`,
    },
    writes: {
      ...writes,
      changeHeld: changeHeld(tables, writes.changeHeld),
      inserted: function* (insert) {
        return sequencesOf(yield insert)
      },
    },
    locks: {
      ...locks,
      ...rowLocks({ tables, ...paths, lock }),
      identified: function* (topic, identifiers, which) {
        const rows = yield sql`
        select t.sequence
          from ${tables.task} t indexed by task_identifier
         where t.topic = ${topic}
           and t.stage is not null
           and t.identifier in (select value from json_each(${JSON.stringify(identifiers)}))
           and ${which}`
        return sequencesOf(rows)
      },
      // One transaction writes at a time, so a poll has every stripe.
      // oxlint-disable-next-line require-yield -- there is nothing to ask the database
      stripes: function* () {
        return { holds: () => raw('true'), reaches: () => raw('true'), all: true }
      },
      junction: function* () {
        // One transaction writes at a time, so two transactions cannot complete a group at once.
      },
    },
    claims: {
      plain: claimPlain(tables),
      countOpen: (state, limit) => sql`(select count(*) from (${openRows[state]} limit ${limit}) found)`,
      glimpses: (topics) => [
        {
          from: sql`${rows([{ name: 'topic', type: 'text', values: topics }])} join ${tables.topic} p on p.topic = r.topic`,
          topic: raw('p.topic'),
          ready: sql`exists (${openRows.ready})`,
        },
      ],
      oldestReady: sql`(select t.created from task t indexed by task_open where t.topic = p.topic and t.state = ${states.ready} and t.state <= ${states.ready} order by t.sequence limit 1)`,
      firstReady: (topic, limit) =>
        sql`select t.sequence from task t indexed by task_open where t.topic = ${topic} and t.state = ${states.ready} and t.state <= ${states.ready} order by t.sequence limit ${limit}`,
      claimedBy: (condition, limit) => sql`
      select t.topic, t.sequence, t.owner
        from ${tables.topic} p
        join ${tables.task} t indexed by task_open on t.topic = p.topic and t.state = ${states.active} and t.state <= ${states.ready}
       where ${condition(raw('t.owner'))}
       limit ${limit}`,
    },
    session: { analyze: [raw('analyze')] },
    coordination: sqliteCoordination,
    examination: sqliteExamination,
    classify: classifySqliteError,
  })
}

const openRows = {
  ready: sql`select 1 from task t indexed by task_open where t.topic = p.topic and t.state = ${states.ready} and t.state <= ${states.ready}`,
  active: sql`select 1 from task t indexed by task_open where t.topic = p.topic and t.state = ${states.active} and t.state <= ${states.ready}`,
  delayed: sql`select 1 from task t where t.topic = p.topic and t.due < ${raw(String(blockedUntilMs))} and t.state = ${states.suspended}`,
}

function lock(): Statement {
  return nothing
}
