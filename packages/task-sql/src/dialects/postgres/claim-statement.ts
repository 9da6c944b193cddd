import type { ClaimRequest } from '../../core/requests.ts'
import { heldNames, noHeld } from '../../core/task-row.ts'
import { states } from '../../core/states.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { SqlValue, Statement } from '../../core/statement.ts'
import type { PostgresTables } from './tables.ts'
import { lastDrawn } from './watermarks.ts'
import type { WatermarkReport, TopicWatermarks } from './watermarks.ts'
import { lockedHere, noteLocked } from './row-locks.ts'
import { Templates } from '../../core/template.ts'
import { chunkBits } from './claim-ledger.ts'
import { leafOf } from './partitions.ts'
import { inTopic, ready } from './topic.ts'

/** The values of a claim's statement, without its columns and the time. */
interface Known extends Record<string, SqlValue> {
  readonly topic: SqlValue
  readonly owner: SqlValue
  readonly size: SqlValue
  readonly history: SqlValue
  readonly run: SqlValue
  readonly floor: SqlValue
  readonly mark: SqlValue
  readonly bound: SqlValue
  /** The last sequence that is known to have been drawn. If the sequence is behind it, somebody has set the sequence back. */
  readonly drawn: SqlValue
}

/**
 * Statements of claims. A statement takes tasks only if the history is the known one.
 *
 * With `merge`, a claim also takes listed rows. `merge` is the number of extra rows that it reads, because others may have locked the
 * first ones. Most topics have no listed rows, so most polls do without.
 */
export function claimStatements(
  tables: PostgresTables,
  extent: Statement,
): (request: ClaimRequest, floor: TopicWatermarks, merge: number | undefined) => Statement {
  const filled = new Templates<Known>()
  return (request, known, merge) => {
    const { history, low: floor, pending } = known
    const { topic, owner, size, mayLock, now } = request
    const run = runOf(history)
    const { horizon: mark = null, high: bound = null } = pending ?? {}
    // mutants: equivalent property `run, floor`, the session's part of the history is then computed by each statement, which takes longer
    const values = { topic, owner, size, history, run, floor, mark, bound, drawn: lastDrawn(known) }
    const write = (places: Known): Statement => claimStatement(tables, request, places, merge, extent)
    // A test's clock adds values of its own, so no template fits.
    // mutants: equivalent condition:false, a statement that is written each time only takes longer
    return now === null ? filled.fill(`${mayLock} ${merge}`, values, write) : write(values)
  }
}

/** The report of a claim, beside the rows that it took. */
export interface ClaimReport extends WatermarkReport {
  readonly ownerKnown: boolean
  readonly ordering: string
  readonly condition: string
  /** The topic's low watermark as it is stored. */
  readonly persisted: number
  /** Whether the transaction has written nothing before, and is at READ COMMITTED. */
  readonly clean: boolean
  /** Whether there are listed rows. */
  readonly relisted: boolean
  /** Whether the claim took fewer rows than asked for although there are more ready rows than it read. */
  readonly crowded: boolean
  /** How many rows the claim has locked. Fewer come back if others have written to some of them meanwhile. */
  readonly taken: number
  /** The size of the task table, in bytes. */
  readonly extent: number
}

/** Reads the status of a claim. The words stand in the order in which `claimStatement` writes them. */
export function toReport(status: string): ClaimReport {
  const [
    ownerKnown,
    ordering,
    condition,
    history,
    persisted,
    floor,
    bound,
    clean,
    mark,
    settled,
    relisted,
    crowded,
    taken,
    extent,
  ] = status.split(' ').map((word) => (word === '-' ? undefined : word))
  return {
    ownerKnown: ownerKnown === 't',
    ordering: ordering!,
    condition: condition!,
    history: history!,
    persisted: Number(persisted),
    low: Number(floor),
    high: Number(bound),
    clean: clean === 't',
    horizon: mark,
    advanced: settled === undefined ? undefined : Number(settled),
    relisted: relisted === 't',
    crowded: crowded === 't',
    taken: Number(taken),
    extent: Number(extent),
  }
}

/**
 * The parts of the statement hand values on to each other, so that the planner cannot see them. Otherwise PostgreSQL might make a new
 * plan for the values of each claim, and planning takes longer than most claims (docs/decisions/plans.md).
 */
function claimStatement(
  tables: PostgresTables,
  request: ClaimRequest,
  known: Known,
  merge: number | undefined,
  extent: Statement,
): Statement {
  const { columns, mayLock } = request
  const { topic, owner, size } = known
  const { task } = tables
  const own = topicOf(tables, topic)
  // Rows that an earlier poll of this transaction has only locked are still ready, and `skip locked` does not skip a transaction's own
  // locks. A transaction that has locked rows is not clean.
  const free = sql`${ready} and ((select clean from start) or not ${lockedHere})`
  const places = mayLock ? columns : raw('t.ctid as place')
  // mutants: equivalent sql-literal `false`, kept for the transaction only, it is computed more often
  const session = sql`case when run = ${known.run}::text then run else pg_catalog.set_config('taskstream.run', ${thisRun}, false) end`
  // mutants: equivalent condition `tables.partitioned`, a value or a column, it is the same topic
  // mutants: equivalent sql-order `order by t.topic, t.sequence limit 1) is not null`, any row will do
  // mutants: equivalent sql-number:2 `sequence - 1 from first`, the next polls read one row more
  return sql`
    with start as materialized (
      select p.topic,
             pg_catalog.pg_current_xact_id_if_assigned() is null and pg_catalog.current_setting('transaction_isolation') = 'read committed' as clean,
             pg_catalog.pg_snapshot_xmin(pg_catalog.pg_current_snapshot()) as low,
             h.bound,
             (select 1 from ${task} t where ${inTopic(tables, tables.partitioned ? topic : raw('p.topic'))} and t.listed and ${ready}
               order by t.topic, t.sequence limit 1) is not null as relisted,
             exists (select from ${tables.owner} o where o.owner = ${owner}) as registered,
             p.ordering,
             p.condition,
             h.history,
             p.floor as persisted,
             case when h.same then greatest(p.floor, ${known.floor}::int8) else p.floor end as floor,
             case when h.same then ${known.mark}::xid8 end as mark
        from ${tables.topic} p,
             lateral (select history, bound, history = ${known.history} and bound >= ${known.drawn}::int8 as same
                        from (select ${historyOf(tables, session)} as history, ${drawn(tables)} as bound
                                from (select ${raw(sessionsRun)} as run) h) h) h
       where p.topic = ${topic}),
    room as materialized (
      select case when history = ${known.history} and registered and ordering = 0 and condition = 0
                   and ${mayLock ? raw('clean') : raw('true')}
                   and ${raw(merge === undefined ? 'not relisted' : 'true')} then ${size}::int8 else 0 end as size from start),
    first as materialized (
      select t.sequence
        from ${task} t
       where ${inTopic(tables, own, sql`(select floor from start)`)} and not t.listed and ${ready}
       order by t.topic, t.sequence
       limit 1),
    taken as materialized (${merge === undefined ? freshRows(tables, own, free, places) : mergedRows(tables, own, free, places, merge)}),
    ${mayLock ? raw('claimed as (select * from taken)') : claimed(tables, request, known)}
    select ${heldNames}, null as status
      from claimed c
     union all
    select ${noHeld},
           pg_catalog.concat_ws(' ', s.registered, s.ordering, s.condition, s.history, s.persisted, s.floor, s.bound, s.clean,
                     coalesce((case when s.clean and exists (select from claimed) then pg_catalog.pg_current_xact_id() end)::text, '-'),
                     coalesce((case when s.clean and s.low >= s.mark
                                    then least((select sequence - 1 from first), ${known.bound}::int8) end)::text, '-'),
                     s.relisted, ${merge === undefined ? raw('false') : crowded(tables, own, merge)}, (select count(*) from taken), ${extent}${mayLock ? sql`, ${noteLocked('taken')}` : nothing})
      from start s`
}

/**
 * The history for which knowledge about the topic `p` is valid: the topic's generation, the storage of the rows and of their sequence,
 * and the run of the server. The storage changes with the database, and when the table is truncated or the sequence is restarted or
 * altered.
 */
export function historyOf({ partitioned, schema, taskClass, sequenceClass }: PostgresTables, run: Statement): Statement {
  const leaf = sql`pg_catalog.to_regclass(pg_catalog.format('${raw(schema)}.%I', ${raw(leafOf('p.topic'))}))`
  return sql`pg_catalog.concat_ws(':', p.generation, pg_catalog.pg_relation_filepath(${partitioned ? leaf : taskClass}), pg_catalog.pg_relation_filepath(${sequenceClass}), ${run})`
}

/** The last sequence that was drawn. */
export function drawn({ sequence }: Pick<PostgresTables, 'sequence'>): Statement {
  return sql`(select case when is_called then last_value else last_value - 1 end from ${sequence})`
}

/** The part of a history that is about the server's run. */
function runOf(history: string): string | null {
  // mutants: equivalent string number nullish result, without it each statement computes that part, which takes longer
  return history.split(':')[3] ?? null
}

/** The server's run, as a setting of the session. It cannot change while the session lasts. */
export const sessionsRun: string = "pg_catalog.current_setting('taskstream.run', true)"

/** The server's run: when it started, and when its statistics were last reset, as a crash does. */
export const thisRun: Statement = raw(
  `pg_catalog.concat_ws('/', extract(epoch from pg_catalog.pg_postmaster_start_time()), extract(epoch from pg_catalog.pg_stat_get_bgwriter_stat_reset_time()))`,
)

/** The topic, hidden from the planner. In a partitioned table it is a plain value, because only a value finds the partition. */
export function topicOf({ partitioned }: PostgresTables, topic: SqlValue): SqlValue | Statement {
  // mutants: equivalent condition, it is the same topic, which the planner sees or not
  return partitioned ? topic : raw('(select topic from start)')
}

/**
 * The first ready rows that nobody has locked. At the start of the statement there were no listed rows, and rows are not checked again
 * for being listed: a row that is handed back meanwhile would be locked and then dropped.
 */
function freshRows(tables: PostgresTables, topic: SqlValue | Statement, free: Statement, places: Statement): Statement {
  // mutants: equivalent sql-number:2 `sequence - 1 from first`, no ready row lies there
  return sql`
      select ${places}
        from ${tables.task} t
       where ${inTopic(tables, topic, sql`(select sequence - 1 from first)`)} and ${free}
       order by t.topic, t.sequence
       limit (select size from room)
         for update skip locked`
}

/**
 * The first listed and fresh ready rows that nobody has locked, in one order. The lateral subquery locks each row when it is reached. If
 * all listed rows were locked before the fresh ones, a claim could skip a listed row that lies between those that it takes.
 */
function mergedRows(
  tables: PostgresTables,
  topic: SqlValue | Statement,
  free: Statement,
  places: Statement,
  spare: number,
): Statement {
  const window = raw(`(select size + ${spare} from room)`)
  // mutants: equivalent sql-limit `order by sequence limit ${window}`, one row more is read
  return sql`
      select l.*
        from (select sequence from (${readyRows(tables, topic, window)}) ready order by sequence limit ${window}) ready,
             lateral (select ${places}
                        from ${tables.task} t
                       where t.topic = ${topic} and t.sequence = ready.sequence and ${free}
                         for update skip locked) l
       limit (select size from room)`
}

/** True if fewer rows were taken than asked for although there are more ready rows than were read. */
function crowded(tables: PostgresTables, topic: SqlValue | Statement, spare: number): Statement {
  // mutants: equivalent sql-number:2 `${spare} + 1`, more rows are read, and it is counted whether they are too many
  const beyond = raw(`(select size + ${spare} + 1 from room)`)
  // mutants: equivalent sql-boundary `< (select size from room)`, a claim more takes nothing
  // mutants: equivalent sql-boundary `> (select size + ${raw(String(spare))} from room)`, a claim more finds nothing else
  return sql`case when (select count(*) from taken) < (select size from room)
                          then (select count(*) from (${readyRows(tables, topic, beyond)}) ready) > (select size + ${raw(String(spare))} from room)
                          else false end`
}

/** The sequences of the first listed ready rows, and of the first fresh ones. The limit counts for each kind. */
function readyRows(tables: PostgresTables, topic: SqlValue | Statement, limit: Statement): Statement {
  // mutants: equivalent sql-limit `limit ${limit})`, one row more is read
  // mutants: equivalent sql-number:2 `sequence - 1 from first`, no ready row lies there
  return sql`
              (select t.sequence
                 from ${tables.task} t
                where ${inTopic(tables, topic)} and t.listed and ${ready}
                order by t.topic, t.sequence
                limit ${limit})
              union all
              (select t.sequence
                 from ${tables.task} t
                where ${inTopic(tables, topic, sql`(select sequence - 1 from first)`)} and not t.listed and ${ready}
                order by t.topic, t.sequence
                limit ${limit})`
}

/** Makes the locked rows active, and records their chunks (claim-ledger.ts). */
function claimed(tables: PostgresTables, { now, columns }: ClaimRequest, { topic, owner }: Known): Statement {
  const { holding } = tables
  const own = topicOf(tables, topic)
  // mutants: equivalent condition `tables.partitioned`, it is the same topic, which the planner sees or not
  return sql`
    claimed as (${activate(tables, owner, now)}
       where t.ctid = any (array(select place from taken))
         and ${tables.partitioned ? sql`t.topic = ${topic}` : sql`t.topic || '' = ${own}`}
         and t.state = ${states.ready}
      returning t.listed, ${columns}),
    noted as (
      insert into ${holding} (topic, owner, chunk)
      select ${own}, ${owner}, passed.chunk
        from (select distinct sequence >> ${raw(String(chunkBits))} as chunk from claimed where not listed) passed
       where not exists (select from ${holding} h where h.topic = ${own} and h.owner = ${owner} and h.chunk = passed.chunk))`
}

/** The beginning of an update that makes locked rows `t` active. */
export function activate({ task }: PostgresTables, owner: SqlValue, now: number | null): Statement {
  return sql`
      update ${task} t
         set state = ${states.active},
             reason = null,
             owner = ${owner},
             attempt = t.attempt + 1,
             tries = t.tries + 1,
             started = ${now === null ? raw('pg_catalog.statement_timestamp()') : sql`pg_catalog.to_timestamp(${now}::float8 / 1000)`}`
}
