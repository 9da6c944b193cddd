/**
 * A sequence that has fallen back: behind the rows that are there, as sequences are not replicated, or behind the floors of topics, below
 * which nobody looks for what is pushed next.
 *
 * The sequence is moved at once and for good, whatever becomes of the transaction; floors, and what processes remember, are put right at its
 * commit. Moved first, and then rolled back, nothing would tell any more that floors are wrong. So in one transaction every topic is marked by
 * a generation below zero, which makes every process forget what it remembers of it, and floors beyond the sequence are taken back; and only
 * a later one, which sees these marks committed, moves the sequence and takes them away.
 */
import { TaskError } from '@taskstream/task-api'
import type { Repair } from '@taskstream/task-api'
import type { Dialect } from '../dialect.ts'
import { toNumber } from '../repository/row.ts'
import type { PostgresTables } from '../schema/postgres-tables.ts'
import { nothing, raw, sql } from '../statement.ts'
import type { Statement } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import { chunkBits } from './postgres-holdings.ts'
import { openTopic } from './postgres-lanes.ts'
import { inTopic } from './postgres-topic.ts'

/**
 * The sequence is moved so far beyond the last row: more than one push draws. One that draws between the moment when the sequence is read and
 * that when it is moved would otherwise have its numbers drawn again.
 */
const leap = 2 ** 17

/** Of this transaction: it has marked topics. */
const marking = 'taskstream.marking'

/** As the schema's default has it. */
const generation = 'floor(random() * 9007199254740991)::bigint'

/** A claim asks for `healSequence` where this is so of what it was told: `bound` is the sequence's last value. */
export function isBehind({ history, floor, bound }: { history: string; floor: number; bound: number }): boolean {
  return floor > bound || history.startsWith('-')
}

/**
 * Has every process forget floors that lie beyond the sequence, and moves the sequence ahead once that is committed: each call does the one or
 * the other, or nothing where others have done it since, and waits for nobody. A topic that is locked, as its floor is being persisted, is left
 * to the next call.
 *
 * @param floor what the caller goes by, which may not be persisted
 */
export function* healSequence(tables: PostgresTables, floor = 0): Verb<void> {
  const found = yield* look(tables, floor)
  // What others have just committed such a transaction would not see, and fail for.
  if (found.isolation !== 'read committed' || found.marking) return
  if (found.beyond) yield markTopics(tables, 'skip')
  else if (found.marked) {
    if (found.mayMove) yield* move(tables)
    yield unmarkTopics(tables)
  }
}

export function postgresRepair(tables: PostgresTables): Pick<Dialect, 'advanceSequence' | 'passed' | 'renewTopic'> {
  const { task, topic: topics, holding } = tables
  return {
    // The row is locked from here on: whoever would persist a floor passes it over.
    renewTopic: function* (topic, keyed) {
      for (const statement of openTopic(tables, topic, keyed)) yield statement
      yield sql`
        update ${topics} p
           set generation = case when p.generation < 0 then - ${raw(generation)} - 1 else ${raw(generation)} end
         where p.topic = ${topic}`
      const [row] = yield sql`
        with missed as materialized (
          select t.topic, t.owner, t.sequence >> ${raw(String(chunkBits))} as chunk, count(*) as count
            from ${topics} p, ${task} t
           where p.topic = ${topic}
             and ${inTopic(tables, topic)}
             and t.state = 0
             and t.owner is not null
             and (p.listing or not t.listed)
             and not exists (select from ${holding} h
                              where h.topic = t.topic and h.owner = t.owner and h.chunk = t.sequence >> ${raw(String(chunkBits))})
           group by 1, 2, 3),
        noted as (
          insert into ${holding} (topic, owner, chunk) select topic, owner, chunk from missed)
        select coalesce(sum(count), 0)::int8 as count from missed`
      return toNumber(row?.['count'])
    },
    passed: (topic) => sql`t.sequence <= (select p.floor from ${topics} p where p.topic = ${topic})`,
    advanceSequence: () => advance(tables),
  }
}

function* advance(tables: PostgresTables): Verb<Repair['sequence']> {
  const found = yield* look(tables)
  if (found.marking) return 'behind'
  if (found.beyond) {
    yield markTopics(tables, 'wait')
    return 'behind'
  }
  const late = found.late || (yield* notesAreLate(tables, found))
  if (late && !found.mayMove) throw denied(tables)
  if (late) yield* move(tables)
  if (found.marked) yield unmarkTopics(tables)
  if (!late) return 'ahead'
  const now = yield* look(tables)
  return now.late || (yield* notesAreLate(tables, now)) ? 'behind' : 'moved'
}

interface Found {
  /** A floor lies beyond the sequence. */
  readonly beyond: boolean
  /** A task does. */
  readonly late: boolean
  readonly marked: boolean
  /** This transaction has marked topics, and they may yet be unmarked by its rollback. */
  readonly marking: boolean
  readonly mayMove: boolean
  /** Workers need not read the sequence of notes, and may not have the right to. */
  readonly mayReadNotes: boolean
  readonly isolation: string
}

function* look(tables: PostgresTables, floor = 0): Verb<Found> {
  const { topic: topics, sequence, turnSequence } = tables
  const is = (condition: Statement): Statement => sql`case when ${condition} then 1 else 0 end`
  const may = (name: Statement, right: string): Statement => sql`has_sequence_privilege(${name.texts[0] ?? ''}, ${right})`
  const [row] = yield sql`
    select ${is(sql`${drawn(sequence)} < ${floor}::int8 or exists (select from ${topics} p where p.floor > ${drawn(sequence)})`)} as beyond,
           ${is(sql`${last(tables, 'task')} > ${drawn(sequence)}`)} as late,
           ${is(sql`exists (select from ${topics} p where p.generation < 0)`)} as marked,
           ${is(sql`current_setting(${marking}, true) = 'on'`)} as marking,
           ${is(sql`${may(sequence, 'update')} and ${may(turnSequence, 'update')} and ${may(turnSequence, 'select')}`)} as may_move,
           ${is(may(turnSequence, 'select'))} as may_read,
           current_setting('transaction_isolation') as isolation`
  const says = (name: string): boolean => Number(row?.[name]) === 1
  return {
    beyond: says('beyond'),
    late: says('late'),
    marked: says('marked'),
    marking: says('marking'),
    mayMove: says('may_move'),
    mayReadNotes: says('may_read'),
    isolation: String(row?.['isolation']),
  }
}

function* notesAreLate(tables: PostgresTables, { mayReadNotes }: Found): Verb<boolean> {
  if (!mayReadNotes) return false
  const [row] = yield sql`select case when ${last(tables, 'turn')} > ${drawn(tables.turnSequence)} then 1 else 0 end as late`
  return Number(row?.['late']) === 1
}

/** The last number that was drawn; 0 if none was. */
function drawn(sequence: Statement): Statement {
  return sql`(select case when s.is_called then s.last_value else s.last_value - 1 end from ${sequence} s)`
}

/** The largest number among the rows of known topics; none if there is no row. */
function last({ task, topic, turn }: PostgresTables, table: 'task' | 'turn'): Statement {
  const [rows, key] = table === 'task' ? [task, raw('sequence')] : [turn, raw('turn')]
  return sql`
    (select max(l.${key})
       from ${topic} p,
            lateral (select r.${key} from ${rows} r where r.topic = p.topic order by r.topic desc, r.${key} desc limit 1) l)`
}

/** Marks only where all are: a topic that is passed over keeps its generation, and others remember its floor. */
function markTopics({ topic, sequence }: PostgresTables, locked: 'wait' | 'skip'): Statement {
  return sql`
    with found as materialized (
      select p.topic from ${topic} p order by p.topic for no key update ${locked === 'skip' ? raw('skip locked') : nothing}),
    whole as materialized (
      select count(*) = (select count(*) from ${topic}) as whole from found)
    update ${topic} p
       set floor = case when p.floor > ${drawn(sequence)} then 0 else p.floor end,
           generation = case when whole.whole then - ${raw(generation)} - 1 else ${raw(generation)} end
      from found, whole
     where p.topic = found.topic
    returning set_config(${marking}, 'on', true)`
}

function unmarkTopics({ topic }: PostgresTables): Statement {
  return sql`
    update ${topic} p
       set generation = ${raw(generation)}
      from (select p.topic from ${topic} p where p.generation < 0 order by p.topic for no key update skip locked) marked
     where p.topic = marked.topic`
}

/** One at a time: another that has read the sequence before would move it back. Whoever comes while it is being moved need not. */
function* move(tables: PostgresTables): Verb<void> {
  const { schema, sequence, turnSequence } = tables
  const one = (name: Statement, table: 'task' | 'turn'): Statement => sql`
    with alone as materialized (
      select pg_try_advisory_xact_lock(hashtextextended(${`taskstream.move.${schema}.${table}`}, 0)) as alone),
    target as materialized (
      select ${last(tables, table)} as last from alone where alone)
    select setval(${name.texts[0] ?? ''}::regclass, target.last + ${raw(String(leap))})
      from target,
           lateral (select ${drawn(name)} as drawn where target.last is not null offset 0) s
     where s.drawn < target.last`
  yield one(sequence, 'task')
  yield one(turnSequence, 'turn')
}

function denied({ sequence, turnSequence }: PostgresTables): TaskError {
  const names = `${sequence.texts.join('')}, ${turnSequence.texts.join('')}`
  return new TaskError(
    'PERMISSION_DENIED',
    `The sequence is behind the tasks, and this user may not move it: grant select, update on sequence ${names} to the user, or run repair as their owner`,
    { needed: `select, update on sequence ${names}` },
  )
}
