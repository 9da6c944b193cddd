import type { Claim, ClaimRequest, Dialect, HeldRequest, RowColumn, Tables } from '../dialect.ts'
import { anyScale } from './any-scale.ts'
import { attemptOf } from '../repository/lease.ts'
import { claimStatus, mayClaim, plainPolling } from '../repository/polling.ts'
import { sequencesOf } from '../repository/row.ts'
import { orderByTopic, returningWrites } from './returning.ts'
import type { HeldRows } from './returning.ts'
import { limitedLocks } from './limited-locks.ts'
import { nothingRemembered } from './nothing-remembered.ts'
import { migrationTable } from '../schema/migration-table.ts'
import { transactionScript } from '../schema/script.ts'
import { sqliteMigrations } from '../schema/sqlite.ts'
import { classifySqliteError } from './sqlite-errors.ts'
import { nothing, raw, sql } from '../statement.ts'
import type { Statement } from '../statement.ts'
import type { Verb } from '../transaction.ts'

const tables: Tables = {
  task: raw('task'),
  topic: raw('task_topic'),
  owner: raw('task_owner'),
  migration: raw('task_migration'),
  turn: raw('task_turn'),
  activation: raw('task_activation'),
  periodic: raw('task_periodic'),
}

const writes = returningWrites({ tables, among, at, lock, beginPush, held, affected })

/**
 * SQLite 3.45 and later. One transaction writes at a time, so sequences are committed in order and a small index of
 * ready and active rows is all that polling needs.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: sqlite(), adapter: fromBetterSqlite3 })
 */
export function sqlite(): Dialect {
  return {
    name: 'sqlite',
    tables,
    migrations: sqliteMigrations,
    // The transaction is immediate: it has the only write lock already.
    beginMigration: [migrationTable(tables.migration)],
    script: transactionScript,
    findTables: function* () {
      return (yield raw(`select 1 as there from sqlite_master where name = 'task_migration'`)).length > 0
    },
    now: (clock) => sql`coalesce(${clock}, cast(round(unixepoch('subsec') * 1000) as integer))`,
    instant: (epochMs) => epochMs,
    plusMs: (instant, ms) => sql`(${instant} + ${ms})`,
    epochMs: (column) => column,
    json: (text) => text,
    text: (value) => sql`cast(${value} as text)`,
    condition: 'condition',
    jsonArray: (values) => sql`json_array(${values})`,
    true: raw('1'),
    false: raw('0'),
    rows,
    at,
    beginPush,
    ...writes,
    ...limitedLocks({ tables, tasksAt: writes.tasksAt, lock }),
    identified: (topic, identifiers) =>
      sql`${tables.task} t where t.topic = ${topic} and t.stage is not null and ${among(raw('t.identifier'), identifiers)}`,
    lockIdentified: function* (topic, identifiers, which) {
      const rows = yield sql`
        select t.sequence
          from ${tables.task} t indexed by task_identifier
         where t.topic = ${topic}
           and t.stage is not null
           and t.identifier in (select value from json_each(${JSON.stringify(identifiers)}))
           and ${which}`
      return sequencesOf(rows)
    },
    inserted: function* (insert) {
      return sequencesOf(yield insert)
    },
    // Without the condition of the index of all open rows, word for word: only listed ones are asked for by this.
    ready: raw('t.state = 1'),
    inTopic: (topic, after = 0, before = Number.MAX_SAFE_INTEGER) =>
      sql`t.topic = ${topic} and t.sequence > ${after} and t.sequence < ${before}`,
    // With statistics SQLite would rather walk all topics by sequence, until it has found enough.
    taskInOrder: raw('task t indexed by task_topic_sequence'),
    taskListed: () => raw('task t'),
    taskIdentified: (name) => raw(`task ${name}`),
    orderBy: orderByTopic,
    among,
    claimPlain,
    // One transaction writes at a time: whoever polls has every lane.
    // oxlint-disable-next-line require-yield -- there is nothing to ask the database
    lockLanes: function* () {
      return { holds: () => raw('true'), reaches: () => raw('true'), all: true }
    },
    meet: function* () {
      // Nor can two transactions complete a group at the same time.
    },
    openTopic: () => [],
    closeTopic: () => [],
    tellChange: () => [],
    analyze: [raw('analyze')],
    limitStatements: () => [],
    countOpen: (state, limit) => sql`(select count(*) from (${openRows[state]} limit ${limit}) found)`,
    oldestReady: raw(
      '(select t.created from task t indexed by task_open where t.topic = p.topic and t.state = 1 and t.state <= 1 order by t.sequence limit 1)',
    ),
    heldBy: (condition, limit) => sql`
      select t.topic, t.sequence
        from ${tables.topic} p
        join ${tables.task} t indexed by task_open on t.topic = p.topic and t.state = 0 and t.state <= 1
       where ${condition(raw('t.owner'))}
       limit ${limit}`,
    ...nothingRemembered,
    // oxlint-disable-next-line require-yield -- nor is there anything else
    renewTopic: function* () {
      return 0
    },
    // A rowid is larger than all that are there, whatever its sequence says.
    // oxlint-disable-next-line require-yield -- there is nothing to ask the database
    advanceSequence: function* () {
      return 'ahead'
    },
    ...anyScale,
    classify: classifySqliteError,
  }
}

const openRows = {
  ready: raw('select 1 from task t indexed by task_open where t.topic = p.topic and t.state = 1 and t.state <= 1'),
  active: raw('select 1 from task t indexed by task_open where t.topic = p.topic and t.state = 0 and t.state <= 1'),
  delayed: raw('select 1 from task t where t.topic = p.topic and t.due is not null and t.state = 4'),
}

function beginPush(): ReturnType<Dialect['beginPush']> {
  return { with: nothing, from: nothing }
}

function lock(): Statement {
  return nothing
}

function among(column: Statement, values: readonly (string | number)[]): Statement {
  return sql`${column} in (select value from json_each(${JSON.stringify(values)}))`
}

/** The plus keeps SQLite from walking a whole topic once for each row: it is to seek each sequence. */
function at(topic: Statement, sequence: Statement): Statement {
  return sql`t.sequence = ${sequence} and +t.topic = ${topic}`
}

function rows(columns: readonly RowColumn[]): Statement {
  const count = columns[0]!.values.length
  const values = Array.from({ length: count }, (_, index) => columns.map((column) => column.values[index]))
  const list = columns.map(({ name }, index) => `value ->> ${index} as ${name}`).join(', ')
  return sql`(select ${raw(list)} from json_each(${JSON.stringify(values)})) as r`
}

/** Their columns have names of their own: a returning clause must be able to say `sequence`. */
function held({ topic, owner, tasks, columns }: HeldRequest): HeldRows {
  const values = rows([
    { name: 'held_sequence', type: 'integer', values: tasks.map(({ sequence }) => sequence) },
    { name: 'held_attempt', type: 'integer', values: tasks.map(attemptOf) },
    ...columns,
  ])
  return {
    updateFrom: sql`from ${values}`,
    selectFrom: sql`, ${values}`,
    where: sql`${at(sql`${topic}`, raw('r.held_sequence'))} and +t.state = 0 and t.owner = ${owner} and t.attempt = r.held_attempt`,
    take: nothing,
    tries: raw('t.tries'),
    value: (column) => raw(`r.${column}`),
  }
}

function* affected(update: Statement): Verb<ReadonlySet<number>> {
  const touched = yield update
  return new Set(touched.map((row) => Number(row['sequence'])))
}

function* claimPlain({ topic, owner, size, now, columns }: ClaimRequest): Verb<Claim> {
  const claimed = yield sql`
    update ${tables.task} as t
       set state = 0,
           reason = null,
           owner = ${owner},
           attempt = attempt + 1,
           tries = tries + 1,
           started = coalesce(${now}, cast(round(unixepoch('subsec') * 1000) as integer))
     where t.sequence in (
           select sequence
             from ${tables.task} indexed by task_open
            where topic = ${topic} and state = 1 and state <= 1 and ${mayClaim({ tables }, topic, owner, plainPolling)}
            order by sequence
            limit ${size})
    returning ${columns}`
  if (claimed.length > 0) return { rows: claimed, polling: plainPolling, ownerKnown: true }
  return { rows: [], ...(yield* claimStatus({ tables, ...anyScale }, topic, owner)) }
}
