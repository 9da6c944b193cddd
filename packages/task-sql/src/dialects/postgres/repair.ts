import { TaskError } from '@taskstream/task-api'
import type { Repair } from '@taskstream/task-api'
import type { Repairs } from '../../core/dialect.ts'
import { toNumber } from '../../core/task-row.ts'
import type { PostgresTables } from './tables.ts'
import { states } from '../../core/states.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Verb } from '../../core/verb.ts'
import { chunkBits } from './claim-ledger.ts'
import { openMissing } from '../shared/lock-stripes.ts'
import { openStripes } from './lock-stripes.ts'
import { repairBlocks } from './ranges/blocks.ts'
import { frontierOf, keepsOutcomes, rangeStates } from './ranges/range-states.ts'
import { inTopic } from './topic.ts'

/**
 * How far beyond the last row the sequence is moved: farther than one push draws. A push may draw between the moment when the sequence
 * is read and the moment when it is moved; its numbers must not be drawn again.
 */
const leap = 2 ** 17

export function postgresRepair(tables: PostgresTables): Repairs {
  const { task, topic: topics, holding } = tables
  return {
    renewTopic: function* (topic, keyed) {
      yield* openMissing(tables.lane, topic, keyed ? [openStripes(tables, topic)] : [])
      const [outcomes] = yield sql`select from ${topics} p where p.topic = ${topic} and ${keepsOutcomes}`
      if (outcomes) yield repairBlocks(tables, topic)
      // The update locks the topic's row, so that no poll persists a low watermark meanwhile.
      yield sql`update ${topics} p set generation = pg_catalog.floor(pg_catalog.random() * 9007199254740991)::bigint where p.topic = ${topic}`
      const [row] = yield sql`
        with missed as materialized (
          select t.topic, t.owner, t.sequence >> ${raw(String(chunkBits))} as chunk, count(*) as count
            from ${topics} p, ${task} t
           where p.topic = ${topic}
             and ${inTopic(tables, topic)}
             and t.state = ${states.active}
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
    passed: (topic) => sql`
      case when exists (select from ${topics} p where p.topic = ${topic} and ${keepsOutcomes})
           then t.sequence <= ${frontierOf(tables, sql`${topic}`)}
                and not exists (select from ${tables.range} r where r.topic = ${topic} and r.state <> ${rangeStates.ended} and t.sequence between r.lo and r.hi)
           else t.sequence <= (select p.floor from ${topics} p where p.topic = ${topic}) end`,
    advanceSequence: () => advance(tables),
  }
}

/**
 * Moves the sequences if they are behind. Tasks that are pushed below a low watermark meanwhile are listed, so polls find them whether or
 * not this transaction commits.
 */
function* advance(tables: PostgresTables): Verb<Repair['sequence']> {
  const { sequence, turnSequence } = tables
  const is = (condition: Statement): Statement => sql`case when ${condition} then 1 else 0 end`
  const mayMove = (name: Statement): Statement => sql`pg_catalog.has_sequence_privilege(${name.texts[0] ?? ''}, 'update')`
  const [row] = yield sql`
    select ${is(sql`${last(tables, 'task')} > ${drawn(sequence)} or ${last(tables, 'turn')} > ${drawn(turnSequence)}`)} as behind,
           ${is(sql`${mayMove(sequence)} and ${mayMove(turnSequence)}`)} as may`
  if (Number(row?.['behind']) === 0) return 'ahead'
  if (Number(row?.['may']) === 0) throw denied(tables)
  yield* move(tables)
  return 'moved'
}

/** The last number that was drawn; 0 if none was drawn yet. */
function drawn(sequence: Statement): Statement {
  return sql`(select case when s.is_called then s.last_value else s.last_value - 1 end from ${sequence} s)`
}

/** The largest number among the rows of known topics and their low watermarks; null if there is no topic. */
function last({ task, topic, turn }: PostgresTables, table: 'task' | 'turn'): Statement {
  const [rows, key, floor] = table === 'task' ? [task, raw('sequence'), raw('p.floor')] : [turn, raw('turn'), raw('0')]
  return sql`
    (select max(greatest(${floor}, (select r.${key} from ${rows} r where r.topic = p.topic order by r.topic desc, r.${key} desc limit 1)))
       from ${topic} p
      where not ${keepsOutcomes})`
}

/**
 * Moves the sequences. Only one transaction does so at a time, because another one that has read a sequence before would move it back. A
 * transaction that finds the lock taken does nothing.
 */
function* move(tables: PostgresTables): Verb<void> {
  const { schema, sequence, turnSequence } = tables
  const one = (name: Statement, table: 'task' | 'turn'): Statement => sql`
    with alone as materialized (
      select pg_catalog.pg_try_advisory_xact_lock(pg_catalog.hashtextextended(${`taskstream.move.${schema}.${table}`}, 0)) as alone),
    target as materialized (
      select ${last(tables, table)} as last from alone where alone)
    select pg_catalog.setval(${name.texts[0] ?? ''}::regclass, target.last + ${raw(String(leap))})
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
