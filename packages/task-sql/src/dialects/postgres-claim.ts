import type { Claim, ClaimRequest, Dialect } from '../dialect.ts'
import { nothing, raw, sql } from '../statement.ts'
import type { SqlValue, Statement } from '../statement.ts'
import type { Row, Verb } from '../transaction.ts'
import { chunkBits } from './postgres-holdings.ts'
import { learn, recall, replacePending } from './postgres-floor.ts'
import type { TopicFloor } from './postgres-floor.ts'
import { toPolling } from '../repository/polling.ts'
import { heldNames } from '../repository/row.ts'
import { inTopic, ready } from './postgres-topic.ts'
import { settleByLocks } from './postgres-settle.ts'
import type { PostgresTables } from '../schema/postgres-tables.ts'

/** An id that no transaction has. */
const nobody = '2'

/** The persisted floor may lag so far behind; a cold poll reads at most so many finished rows. */
const persistEvery = 8192

/**
 * Takes ready tasks without an index on the state, so that neither taking nor completing a task touches an index.
 *
 * Two kinds of ready rows are merged by sequence. Rows that are `listed` became ready again after their push (handed back,
 * released, expired) and are found through a small partial index. All others are fresh: they lie above the topic's floor, a
 * sequence at or below which no fresh row is ready or ever will be, and are read in order from there.
 *
 * The floor rides on the polls themselves. Each poll that took something remembers the last sequence drawn so far (bound) and
 * its own transaction id (mark), drawn afterwards. A pusher draws its transaction id before its sequences; so once a later
 * snapshot's xmin has reached the mark, every transaction with a sequence up to the bound has ended and is visible, and the
 * floor may rise to just below the first row up to the bound that is still ready there. Rows that others have taken but not
 * committed still read as ready, and hold it. Only a transaction that had written nothing before may do this: it would not
 * see its own earlier claims as ready, and might yet roll them back. And only at READ COMMITTED, where the snapshot is not older
 * than what was learned before it.
 *
 * What a process has learned holds for one history of the database: a topic's generation, and the server's starts. A crash may
 * take commits back that were not yet on disk (synchronous_commit = off), and a failover those that were not yet on the standby;
 * their tasks are ready again, below a floor that is remembered. The persisted floor goes back with them. A crash ends every connection: what
 * has once been asked of a server is kept in its session (`taskstream.run`), and asked again where sessions disagree.
 */
export function postgresClaim(tables: PostgresTables, scale: Pick<Dialect, 'extent' | 'learnExtent'>): Dialect['claimPlain'] {
  const floors = new Map<string, TopicFloor>()
  /** Topics that had listed rows when they were last polled. */
  const relisting = new Set<string>()
  /** The statement for real time, by what it is for: writing it takes longer than many a poll. */
  const templates = new Map<string, Statement>()
  return claim

  function statementOf(request: ClaimRequest, floor: TopicFloor, merge: boolean): Statement {
    const { topic, owner, size, columns, mayLock } = request
    const { history, pending } = floor
    const run = history.split('/').slice(1).join('/') || null
    const known = {
      topic,
      owner,
      size,
      history,
      run,
      floor: floor.floor,
      mark: pending?.mark ?? null,
      bound: pending?.bound ?? null,
    }
    // What time it is in a test is part of the columns.
    if (request.now !== null) return claimStatement(tables, request, known, merge, scale.extent)
    const key = `${mayLock} ${merge}`
    let template = templates.get(key)
    if (!template) {
      const places = { ...request, topic: place('topic'), owner: place('owner'), size: place('size') as never, columns }
      templates.set(key, (template = claimStatement(tables, places, placesOf(known), merge, scale.extent)))
    }
    const values = template.values.map((value) =>
      typeof value === 'string' && value.startsWith(placed) ? known[value.slice(placed.length) as keyof Known] : value,
    )
    return { texts: template.texts, values, reused: true }
  }

  function* claim(request: ClaimRequest): Verb<Claim> {
    const { pending } = recall(floors, request.topic)
    if (pending) replacePending(floors, request.topic, pending, yield* settleByLocks(tables, pending))
    const known = recall(floors, request.topic)
    const merge = relisting.has(request.topic)
    const rows = yield statementOf(request, known, merge)
    const status = rows.find((row) => row['status'] !== null)
    if (!status) return { rows: [], ownerKnown: false }
    const [ownerKnown, ordering, condition, history = '', persisted, floor, bound, clean, mark, settled, bytes, relisted] =
      String(status['status']).split(' ')
    scale.learnExtent(Number(bytes))
    const now = learn(floors, request.topic, known, {
      history,
      floor: Number(floor),
      settled: settled === '-' ? undefined : Number(settled),
      mark: mark === '-' ? undefined : mark,
      bound: Number(bound),
    })
    if (relisted === 't') relisting.add(request.topic)
    else relisting.delete(request.topic)
    // It took nothing: there are rows that it was not looking for.
    if (relisted === 't' && !merge) return yield* claim(request)
    // What this transaction has pushed itself could not be told from what it has locked: it is made active.
    if (request.mayLock && clean === 'f') return yield* claim({ ...request, mayLock: false })
    if (clean === 't' && now.floor - Number(persisted) > persistEvery) yield persistFloor(tables, request.topic, now)
    return {
      rows: rows.filter((row: Row) => row['status'] === null),
      polling: toPolling(ordering, condition),
      ownerKnown: ownerKnown === 't',
      locked: request.mayLock,
    }
  }
}

/** What a claim is given, but for its columns and the time. */
interface Known {
  readonly topic: SqlValue
  readonly owner: SqlValue
  readonly size: SqlValue
  readonly history: SqlValue
  readonly run: SqlValue
  readonly floor: SqlValue
  readonly mark: SqlValue
  readonly bound: SqlValue
}

/** Stands for a value of each poll's own: no value begins so, as nothing that is stored may contain it. */
const placed = '\0'
const place = (name: keyof Known): string => placed + name

function placesOf(known: Known): Known {
  return Object.fromEntries(Object.keys(known).map((name) => [name, place(name as keyof Known)])) as unknown as Known
}

/** `merge`: looks for listed rows too. Most polls find none to be there, and are spared that. */
function claimStatement(
  tables: PostgresTables,
  request: ClaimRequest,
  known: Known,
  merge: boolean,
  extent: Statement,
): Statement {
  const { topic, owner, size, columns, mayLock } = request
  const { task } = tables
  // What a poll before this one in the same transaction has only locked is ready still, and taken: the row is another transaction's, the
  // lock is its own, which would not be passed over. (A row that it has written itself may carry its lock too.)
  const free = sql`${ready} and (t.xmax <> (select self from start) or t.xmin = (select self from start))`
  const places = mayLock ? columns : raw('t.ctid as place')
  const taken = (column: string): Statement =>
    raw(`${merge ? `select ${column} from again union all ` : ''}select ${column} from fresh`)
  const { run } = known
  return sql`
    with start as materialized (
      select pg_current_xact_id_if_assigned() is null and current_setting('transaction_isolation') = 'read committed' as clean,
             pg_snapshot_xmin(pg_current_snapshot()) as low,
             coalesce(pg_current_xact_id_if_assigned()::xid, ${nobody}::xid) as self,
             (select last_value from ${tables.sequence}) as bound,
             (select 1 from ${task} t where ${inTopic(tables, topic)} and t.listed and ${ready} order by t.topic, t.sequence limit 1) is not null as relisted,
             exists (select from ${tables.owner} o where o.owner = ${owner}) as registered,
             p.ordering,
             p.condition,
             h.history,
             p.floor as persisted,
             case when h.history = ${known.history} then greatest(p.floor, ${known.floor}::int8) else p.floor end as floor,
             case when h.history = ${known.history} then ${known.mark}::xid8 end as mark
        from ${tables.topic} p,
             lateral (select concat_ws('/', p.generation, case
                        when current_setting('taskstream.run', true) = ${run}::text then ${run}::text
                        else set_config('taskstream.run', concat_ws('/', extract(epoch from pg_postmaster_start_time()),
                                        extract(epoch from pg_stat_get_bgwriter_stat_reset_time())), false) end) as history) h
       where p.topic = ${topic}),
    room as materialized (
      select case when registered and ordering = 0 and condition = 0 and ${mayLock ? raw('clean') : raw('true')}
                   and ${merge ? raw('true') : raw('not relisted')} then ${size}::int8 else 0 end as size from start),
    first as materialized (
      select t.sequence
        from ${task} t
       where ${inTopic(tables, topic, sql`(select floor from start)`)} and not t.listed and ${ready}
       order by t.topic, t.sequence
       limit 1),
    ${merge ? listedRows(tables, request, free, places) : nothing}
    fresh as materialized (
      select ${places}
        from ${task} t
       where ${inTopic(tables, topic, sql`(select sequence - 1 from first)`)} and not t.listed and ${free}
       order by t.topic, t.sequence
       limit (select size - ${merge ? raw('(select count(*) from again)') : raw('0')} from room)
         for update skip locked),
    ${mayLock ? sql`claimed as (${taken('*')})` : claimed(tables, request, taken('place'))}
    select ${heldNames}, null as status
      from claimed c
     union all
    select ${heldNames},
           concat_ws(' ', s.registered, s.ordering, s.condition, s.history, s.persisted, s.floor, s.bound, s.clean,
                     coalesce((case when s.clean and exists (select from claimed) then pg_current_xact_id() end)::text, '-'),
                     coalesce((case when s.clean and s.low >= s.mark
                                    then least((select sequence - 1 from first), ${known.bound}::int8) end)::text, '-'),
                     ${extent}, s.relisted)
      from start s
      left join (select * from claimed limit 0) empty on true`
}

/** The listed rows that come before as many fresh ones as there is room for, or among them. */
function listedRows(tables: PostgresTables, { topic }: ClaimRequest, free: Statement, places: Statement): Statement {
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
function claimed(tables: PostgresTables, { topic, owner, now, columns }: ClaimRequest, places: Statement): Statement {
  const { task, holding } = tables
  return sql`
    claimed as (
      update ${task} t
         set state = 0,
             owner = ${owner},
             attempt = t.attempt + 1,
             tries = t.tries + 1,
             started = coalesce(to_timestamp(${now}::float8 / 1000), statement_timestamp())
       where t.ctid = any (array(${places}))
         and ${tables.partitioned ? sql`t.topic = ${topic}` : sql`t.topic || '' = ${topic}`}
         and t.state = 1
      returning t.listed, ${columns}),
    noted as (
      insert into ${holding} (topic, owner, chunk)
      select ${topic}, ${owner}, passed.chunk
        from (select distinct sequence >> ${chunkBits}::int as chunk from claimed where not listed) passed
       where not exists (
             select from ${holding} h where h.topic = ${topic} and h.owner = ${owner} and h.chunk = passed.chunk))`
}

/** Whoever is persisting the same topic's floor at this moment does it for us too. */
function persistFloor(tables: PostgresTables, topic: string, { history, floor }: TopicFloor): Statement {
  return sql`
    update ${tables.topic} p
       set floor = ${floor}::int8
      from (select topic
              from ${tables.topic}
             where topic = ${topic} and generation = ${history.split('/')[0] ?? ''}::int8 and floor < ${floor}::int8
               for no key update skip locked) free
     where p.topic = free.topic`
}
