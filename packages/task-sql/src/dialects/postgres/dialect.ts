import { checkNames, optionNames } from '@taskstream/task-api'
import { defineDialect } from '../../core/define-dialect.ts'
import type { Dialect } from '../../core/dialect.ts'
import type { Selection } from '../../core/requests.ts'
import { migrationTable } from '../shared/migration-table.ts'
import { postgresMigrations } from './schema.ts'
import { postgresCoordination } from './coordination.ts'
import { checkedName, quote, tablesOf } from './tables.ts'
import type { PostgresTables } from './tables.ts'
import { transactionScript } from '../shared/script.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Verb } from '../../core/verb.ts'
import { classifyPostgresError } from './errors.ts'
import { sequencesOf, toNumber } from '../../core/task-row.ts'
import { limit, rowLocks } from '../shared/row-locks.ts'
import { lockStripes, openStripes } from './lock-stripes.ts'
import { blockedUntil } from '../../core/blocked.ts'
import { postgresGlimpses } from './glimpses.ts'
import { postgresOverview } from './overview.ts'
import { postgresRepair } from './repair.ts'
import { postgresRights } from './rights.ts'
import { postgresExamination } from './examination/examination.ts'
import { claimByFunction } from './claim-by-function.ts'
import { postgresClaim } from './claim.ts'
import { lockedBy } from './row-locks.ts'
import { planSize } from './plan-size.ts'
import type { TopicWatermarks } from './watermarks.ts'
import { inOrder } from './in-order.ts'
import { epochMs, instant } from './instants.ts'
import { inTopic, ready } from './topic.ts'
import { arrayLiteral, unnest } from './values.ts'
import { orderByTopic, writesReturning } from '../shared/writes-returning.ts'
import { claimLedger } from './claim-ledger.ts'
import { heldByRange, heldRows } from './held-rows.ts'
import { closeBlocks, openBlocks } from './ranges/blocks.ts'
import { numberedInsert } from './ranges/numbered-insert.ts'
import { keepsOutcomes } from './ranges/range-states.ts'
import { postgresRanges } from './ranges/ranges.ts'

export interface PostgresOptions {
  /** The schema of the tables, 1 to 40 letters, digits and underscores. `migrate` creates it. Default: `taskstream`. */
  readonly schema?: string
  /**
   * Whether each topic has a partition of its own, so that deleting one topic's history does not slow down other topics. The option
   * counts when `migrate` makes the tables, and cannot be changed later. Default: false. One table suits a few thousand topics, and
   * needs no locks for each of them.
   */
  readonly partitioned?: boolean
  /**
   * Whether pushes and activations notify listeners at commit. Default: true. Notifying costs many concurrent producers up to half their
   * rate, and forbids PREPARE TRANSACTION. Without it, poll loops find new tasks only by polling.
   */
  readonly notify?: boolean
  /**
   * The schema of the tables of coordination, `token_holder` and `health_check`, 1 to 40 letters, digits and underscores. It must exist. Default: `public`,
   * where other programs look for them.
   */
  readonly coordinationSchema?: string
}

const names = optionNames<PostgresOptions>('postgres', {
  schema: true,
  partitioned: true,
  notify: true,
  coordinationSchema: true,
})

/**
 * PostgreSQL 15 and later.
 *
 * @example
 * const tasks = sqlTaskRepository({ dialect: postgres(), adapter: fromPg })
 * @throws TaskError ARGUMENT_INVALID unless the schema's name is 1 to 40 letters, digits and underscores
 */
export function postgres(options: PostgresOptions = {}): Dialect {
  checkNames(names, options)
  const schema = options.schema ?? 'taskstream'
  const tables = tablesOf(schema, options.partitioned)
  const channel = postgresChannel(schema)
  const plans = planSize(tables)
  const watermarks = new Map<string, TopicWatermarks>()
  const ledger = claimLedger(tables)
  const begin = (topic: string, wake: boolean): { readonly with: Statement; readonly from: Statement } => ({
    // The transaction draws its id before its sequences, because low watermarks rely on that order (claim.ts). The subquery is
    // materialised, because PostgreSQL would not compute the unused column of another one.
    with: sql`with started as materialized (select pg_catalog.pg_current_xact_id(), coalesce(pg_catalog.pg_sequence_last_value(${tables.sequenceClass}), 0) as drawn${wake && options.notify !== false ? sql`, pg_catalog.pg_notify(${channel}, ${topic})` : nothing})`,
    from: raw('started,'),
  })
  const { writes, locks, paths } = writesReturning({
    tables,
    among,
    amongKeys,
    byKey,
    lock,
    begin,
    held: (request) => (request.ranged ? heldByRange(tables, request) : heldRows(request)),
    numbered: (insertion) => numberedInsert(tables, channel, options.notify !== false && insertion.wake, insertion),
    isPlain: sql`not ${keepsOutcomes}`,
    affected: (update, expected, recheck) =>
      affected(tables, options.notify === false ? undefined : channel, update, expected, recheck),
    rechecksHeld: true,
  })
  return defineDialect({
    system: 'postgresql',
    tables,
    schema: {
      migrations: postgresMigrations(tables),
      begin: [
        // The user who migrates may have many rights, so it must not call functions that another role has given names of PostgreSQL's own.
        raw('set local search_path = pg_catalog, pg_temp'),
        sql`select from pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(${`taskstream.migrate.${schema}`}, 0))`,
        // A backend that has waited for the lock sometimes fails with a duplicate key in pg_namespace, in spite of `if not exists`: it
        // does not see the schema that was committed meanwhile. The schema exists then, so the error is ignored.
        // An existing schema is not created again, because a user to whom it was granted may lack the right to create schemas.
        raw(`do $$ begin
               if pg_catalog.to_regnamespace('${quote(schema)}') is null then
                 create schema if not exists ${quote(schema)};
               end if;
             exception when unique_violation then null;
             end $$`),
        migrationTable(tables.migration),
      ],
      script: transactionScript,
      find: function* () {
        const there =
          yield sql`select 1 as there from pg_catalog.pg_tables where schemaname = ${schema} and tablename = 'task_migration'`
        return there.length > 0
      },
    },
    expr: {
      shared: raw('for share'),
      alone: raw('for update skip locked'),
      // statement_timestamp() is stable within a statement and so may stand in an index condition; clock_timestamp() may not.
      now: (clock) => (clock === null ? statementTimestamp : sql`pg_catalog.to_timestamp(${clock}::float8 / 1000)`),
      instant,
      plusMs: (instant, ms) => sql`(${instant} + (${ms})::int8 * interval '1 millisecond')`,
      epochMs,
      json: (text) => sql`${text}::json`,
      jsonArray: (values) => sql`pg_catalog.json_build_array(${values})::text`,
      true: raw('true'),
      false: raw('false'),
      rows: unnest,
      limit,
      // Of a limit that the planner cannot see, it expects a tenth of the rows. A sort of them all is then dearer, also if the table was never analysed.
      limitInOrder: (count) => limit(sql`(select ${count}::int8)`),
    },
    paths: {
      byKey,
      ...paths,
      byIdentifiers: (topic, identifiers) =>
        sql`${tables.task} t where t.topic = ${topic} and t.stage is not null and ${among(raw('t.identifier'), identifiers)}`,
      inTopic: (topic, after, before) => inTopic(tables, topic, after, before),
      orderBy: orderByTopic,
      ...inOrder(tables),
      ready,
      among,
      placeOf: (column, values) => sql`pg_catalog.array_position(${arrayLiteral(values)}::int8[], ${column})`,
    },
    writes: {
      ...writes,
      inserted: (insertion, _topic, count) => inserted(insertion, count),
      // True if somebody has set the sequence back. Polls would not see the new rows, as they read fresh rows above the low watermark.
      mustList: raw('started.drawn < p.floor'),
    },
    locks: {
      ...locks,
      ...rowLocks({ tables, ...paths, lock }),
      identified: function* (topic, identifiers, which, locked) {
        // Because of the offset, the planner keeps the subquery: it looks up each identifier, instead of reading the whole topic.
        const rows = yield sql`
          select t.sequence
            from pg_catalog.unnest(${arrayLiteral(identifiers)}::text[]) r (identifier),
                 lateral (select t.sequence
                            from ${tables.task} t
                           where t.topic = ${topic} and t.identifier = r.identifier and t.stage is not null and ${which}
                          offset 0
                             for update ${raw(locked === 'skip' ? 'skip locked' : '')}) t`
        return sequencesOf(rows)
      },
      ...lockStripes(tables),
      lockedBy: lockedBy(tables),
    },
    claims: {
      plain: postgresClaim(tables, plans, watermarks),
      singular: claimByFunction(tables, plans),
      glimpses: postgresGlimpses(tables, watermarks, unnest),
      ...postgresOverview(tables, blockedUntil({ instant })),
      ...ledger,
    },
    ranges: postgresRanges(tables, plans, ledger.record),
    repair: postgresRepair(tables),
    topics: {
      // `attach` makes the topic's partition, if the table is partitioned.
      open: (topic, { keyed, record }) => [
        sql`select from ${tables.attach}(${topic})`,
        ...(keyed ? [openStripes(tables, topic)] : []),
        ...(record === 'outcomes' ? [openBlocks(tables, topic)] : []),
      ],
      close: (topic) => [
        sql`delete from ${tables.holding} where topic = ${topic}`,
        sql`delete from ${tables.lane} where topic = ${topic}`,
        ...closeBlocks(tables, topic),
      ],
      notify: (name) =>
        options.notify === false ? [] : [sql`select from pg_catalog.pg_notify(${activationChannel(channel)}, ${name})`],
      wake: (topic) => (options.notify === false ? [] : [sql`select from pg_catalog.pg_notify(${channel}, ${topic})`]),
    },
    plans,
    session: {
      ...postgresRights(tables),
      limitStatements: (timeoutMs) => [
        sql`select from pg_catalog.set_config('statement_timeout', ${String(timeoutMs)}, true) where pg_catalog.current_setting('statement_timeout') = '0'`,
      ],
    },
    examination: postgresExamination(tables),
    coordination: postgresCoordination(checkedName('coordinationSchema', options.coordinationSchema ?? 'public')),
    classify: (error) => classifyPostgresError(error, schema),
  })
}

/** The channel on which a schema's pushes notify. */
export function postgresChannel(schema: string): string {
  return `taskstream.${schema}`
}

/** The channel on which changes of activations and timers notify. `channel` is the channel of pushes. */
export function activationChannel(channel: string): string {
  return `${channel}.activation`
}

function byKey(topic: Statement, sequence: Statement): Statement {
  return sql`t.topic = ${topic} and t.sequence = ${sequence}`
}

function lock(table: string, mode: Selection['locked']): Statement {
  return raw(`for update of ${table}${mode === 'skip' ? ' skip locked' : ''}`)
}

function among(column: Statement, values: readonly (string | number)[]): Statement {
  return sql`${column} = any (${arrayLiteral(values)}::${raw(typeof values[0] === 'string' ? 'text[]' : 'int8[]')})`
}

/** The planner does not see how many keys there are. For many it would read a topic's attempts, if these were never analysed. */
function amongKeys(column: Statement, keys: readonly number[]): Statement {
  return sql`${column} = any ((select ${arrayLiteral(keys)}::int8[])::int8[])`
}

const statementTimestamp = raw('pg_catalog.statement_timestamp()')

/** From so many rows on, an insert returns one row with all sequences instead of one row for each. */
const manyRows = 20

/** Runs an insert. The sequences follow each other unless somebody else pushes at the same moment: then the first and the last suffice. */
function* inserted(insert: Statement, count: number): Verb<readonly number[]> {
  if (count < manyRows) return sequencesOf(yield insert)
  const [row] = yield {
    ...sql`
    with inserted as (${insert})
    select low, count,
           case when high - low + 1 > count then (select pg_catalog.string_agg(sequence::text, ',' order by sequence) from inserted) end as sequences
      from (select min(sequence) as low, max(sequence) as high, count(*)::int as count from inserted) inserted`,
    stablePlan: true,
  }
  if (row?.['sequences']) return String(row['sequences']).split(',').map(toNumber)
  const low = toNumber(row?.['low'] ?? 0)
  return Array.from({ length: Number(row?.['count']) }, (_, index) => toNumber(low + index))
}

/**
 * Runs an update that returns one row instead of one for each task. The sequences are returned only if some tasks are missing. With `recheck` it also
 * writes rechecks of that topic, and wakes its listeners: so that a completion is a single statement.
 */
function* affected(
  tables: PostgresTables,
  channel: string | undefined,
  update: Statement,
  expected: readonly number[],
  recheck: string | undefined,
): Verb<ReadonlySet<number>> {
  const noted =
    recheck === undefined
      ? nothing
      : sql`, noted as (
      insert into ${tables.turn} (topic, identifier)
      select p.topic, r.identifier
        from ${tables.topic} p, (select distinct identifier from touched) r
       where p.topic = ${recheck} )`
  // Prisma refuses an answer with a column of the type void.
  const woken =
    recheck === undefined || channel === undefined
      ? nothing
      : sql`, case when count(*) > 0 then pg_catalog.pg_notify(${channel}, ${recheck})::text end as woken`
  const rows = yield sql`
    with touched as (${update})${noted}
    select count(*)::int as count, case when count(*) < ${expected.length}::int then pg_catalog.string_agg(sequence::text, ',') end as sequences${woken}
      from touched`
  if (Number(rows[0]?.['count']) === expected.length) return new Set(expected)
  const sequences = String(rows[0]?.['sequences'] ?? '')
  return new Set(sequences === '' ? [] : sequences.split(',').map(Number))
}
