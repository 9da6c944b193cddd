import type { ClaimRequest } from '../dialect.ts'
import { heldNames, noHeld } from '../repository/row.ts'
import { nothing, raw, sql } from '../statement.ts'
import type { SqlValue, Statement } from '../statement.ts'
import type { PostgresTables } from '../schema/postgres-tables.ts'
import type { FloorReport, TopicFloor } from './postgres-floor.ts'
import { Templates } from '../templates.ts'
import { chunkBits } from './postgres-holdings.ts'
import { inTopic, ready } from './postgres-topic.ts'

/** An id that no transaction has. */
const nobody = '2'

/** What a claim is given, but for its columns and the time. */
interface Known extends Record<string, SqlValue> {
  readonly topic: SqlValue
  readonly owner: SqlValue
  readonly size: SqlValue
  readonly history: SqlValue
  readonly run: SqlValue
  readonly floor: SqlValue
  readonly mark: SqlValue
  readonly bound: SqlValue
}

/** `merge`: looks for listed rows too. Most polls find none to be there, and are spared that. */
export function claimStatements(
  tables: PostgresTables,
  extent: Statement,
): (request: ClaimRequest, floor: TopicFloor, merge: boolean) => Statement {
  const filled = new Templates<Known>()
  return (request, { history, floor, pending }, merge) => {
    const { topic, owner, size, mayLock, now } = request
    const run = history.split('/').slice(1).join('/') || null
    const { mark = null, bound = null } = pending ?? {}
    const known = { topic, owner, size, history, run, floor, mark, bound }
    const write = (values: Known): Statement => claimStatement(tables, request, values, merge, extent)
    // What time it is in a test is part of the text's values.
    return now === null ? filled.fill(`${mayLock} ${merge}`, known, write) : write(known)
  }
}

/** What a claim says beside the rows that it took. */
export interface ClaimReport extends FloorReport {
  readonly ownerKnown: boolean
  readonly ordering: string
  readonly condition: string
  /** The topic's floor as it is stored. */
  readonly persisted: number
  /** Nothing was written in this transaction before, and it sees what is committed. */
  readonly clean: boolean
  /** Whether there are listed rows. */
  readonly relisted: boolean
  /** The size of the task table, in bytes. */
  readonly extent: number
}

/** Reads the status of a claim, in the order in which its statement writes it. */
export function toReport(status: string): ClaimReport {
  const [ownerKnown, ordering, condition, history, persisted, floor, bound, clean, mark, settled, relisted, extent] = status
    .split(' ')
    .map((word) => (word === '-' ? undefined : word))
  return {
    ownerKnown: ownerKnown === 't',
    ordering: ordering ?? '',
    condition: condition ?? '',
    history: history ?? '',
    persisted: Number(persisted),
    floor: Number(floor),
    bound: Number(bound),
    clean: clean === 't',
    mark,
    settled: settled === undefined ? undefined : Number(settled),
    relisted: relisted === 't',
    extent: Number(extent),
  }
}

/**
 * What is asked of the planner is the same whatever the values are: they are handed on from one part to the next. A plan that looks
 * better for them is made anew each time, and planning takes longer than most claims (docs/decisions/plans.md).
 */
function claimStatement(
  tables: PostgresTables,
  request: ClaimRequest,
  known: Known,
  merge: boolean,
  extent: Statement,
): Statement {
  const { columns, mayLock } = request
  const { topic, owner, size } = known
  const { task } = tables
  const own = topicOf(tables, topic)
  // What a poll before this one in the same transaction has only locked is ready still, and taken: the row is another transaction's, the
  // lock is its own, which would not be passed over. (A row that it has written itself may carry its lock too.)
  const free = sql`${ready} and (t.xmax <> (select self from start) or t.xmin = (select self from start))`
  const places = mayLock ? columns : raw('t.ctid as place')
  const taken = (column: string): Statement =>
    raw(`${merge ? `select ${column} from again union all ` : ''}select ${column} from fresh`)
  return sql`
    with start as materialized (
      select p.topic,
             pg_current_xact_id_if_assigned() is null and current_setting('transaction_isolation') = 'read committed' as clean,
             pg_snapshot_xmin(pg_current_snapshot()) as low,
             coalesce(pg_current_xact_id_if_assigned()::xid, ${raw(`'${nobody}'`)}::xid) as self,
             (select last_value from ${tables.sequence}) as bound,
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
             lateral (select history, history = ${known.history} as same
                        from (select concat_ws('/', p.generation, case
                               when run = ${known.run}::text then run
                               else set_config('taskstream.run', concat_ws('/', extract(epoch from pg_postmaster_start_time()),
                                               extract(epoch from pg_stat_get_bgwriter_stat_reset_time())), false) end) as history
                                from (select current_setting('taskstream.run', true) as run) h) h) h
       where p.topic = ${topic}),
    room as materialized (
      select case when registered and ordering = 0 and condition = 0 and ${mayLock ? raw('clean') : raw('true')}
                   and ${merge ? raw('true') : raw('not relisted')} then ${size}::int8 else 0 end as size from start),
    first as materialized (
      select t.sequence
        from ${task} t
       where ${inTopic(tables, own, sql`(select floor from start)`)} and not t.listed and ${ready}
       order by t.topic, t.sequence
       limit 1),
    ${merge ? listedRows(tables, own, free, places) : nothing}
    fresh as materialized (
      select ${places}
        from ${task} t
       where ${inTopic(tables, own, sql`(select sequence - 1 from first)`)} and not t.listed and ${free}
       order by t.topic, t.sequence
       limit (select size - ${merge ? raw('(select count(*) from again)') : raw('0')} from room)
         for update skip locked),
    ${mayLock ? sql`claimed as (${taken('*')})` : claimed(tables, request, known, taken('place'))}
    select ${heldNames}, null as status
      from claimed c
     union all
    select ${noHeld},
           concat_ws(' ', s.registered, s.ordering, s.condition, s.history, s.persisted, s.floor, s.bound, s.clean,
                     coalesce((case when s.clean and exists (select from claimed) then pg_current_xact_id() end)::text, '-'),
                     coalesce((case when s.clean and s.low >= s.mark
                                    then least((select sequence - 1 from first), ${known.bound}::int8) end)::text, '-'),
                     s.relisted, ${extent})
      from start s`
}

/** The topic, where its value is no part of the plan: a partition is only found by a value. */
export function topicOf({ partitioned }: PostgresTables, topic: SqlValue): SqlValue | Statement {
  return partitioned ? topic : raw('(select topic from start)')
}

/** The listed rows that come before as many fresh ones as there is room for, or among them. */
function listedRows(tables: PostgresTables, topic: SqlValue | Statement, free: Statement, places: Statement): Statement {
  const { task } = tables
  return sql`
    last as materialized (
      select max(sequence) as sequence
        from (select sequence
                from ((select t.sequence
                         from ${task} t
                        where ${inTopic(tables, topic)} and t.listed and ${free}
                        order by t.topic, t.sequence
                        limit (select size from room))
                      union all
                      (select t.sequence
                         from ${task} t
                        where ${inTopic(tables, topic, sql`(select sequence - 1 from first)`)} and not t.listed and ${free}
                        order by t.topic, t.sequence
                        limit (select size from room))) ready
               order by sequence
               limit (select size from room)) first
       where (select relisted from start)),
    again as materialized (
      select ${places}
        from ${task} t
       where ${inTopic(tables, topic)} and t.listed and ${free} and t.sequence <= (select sequence from last)
       order by t.topic, t.sequence
       limit (select size from room)
         for update skip locked),`
}

/** Makes active what is locked, and notes where that is (postgres-holdings.ts). */
function claimed(tables: PostgresTables, { now, columns }: ClaimRequest, { topic, owner }: Known, places: Statement): Statement {
  const { holding } = tables
  const own = topicOf(tables, topic)
  return sql`
    claimed as (${activate(tables, owner, now)}
       where t.ctid = any (array(${places}))
         and ${tables.partitioned ? sql`t.topic = ${topic}` : sql`t.topic || '' = ${own}`}
         and t.state = 1
      returning t.listed, ${columns}),
    noted as (
      insert into ${holding} (topic, owner, chunk)
      select ${own}, ${owner}, passed.chunk
        from (select distinct sequence >> ${raw(String(chunkBits))} as chunk from claimed where not listed) passed
       where not exists (select from ${holding} h where h.topic = ${own} and h.owner = ${owner} and h.chunk = passed.chunk))`
}

/** Makes rows `t` active that are locked. */
export function activate({ task }: PostgresTables, owner: SqlValue, now: number | null): Statement {
  return sql`
      update ${task} t
         set state = 0,
             owner = ${owner},
             attempt = t.attempt + 1,
             tries = t.tries + 1,
             started = ${now === null ? raw('statement_timestamp()') : sql`to_timestamp(${now}::float8 / 1000)`}`
}
