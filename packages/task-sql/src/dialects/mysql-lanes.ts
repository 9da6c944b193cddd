import { TaskError } from '@taskstream/task-api'
import type { Dialect } from '../dialect.ts'
import { toNumber } from '../repository/row.ts'
import { raw, sql } from '../statement.ts'
import type { Statement } from '../statement.ts'
import type { MysqlFlavor, MysqlTables } from '../schema/mysql.ts'
import type { Row, Verb } from '../transaction.ts'
import { keysOf, lockOn } from './mysql-values.ts'

/** A power of two. Identifiers that share a lane delay each other for as long as a poll's transaction lasts, and no more. */
const laneCount = 1024

/**
 * Lanes as rows of a table. Whoever has locked a lane counts it: at REPEATABLE READ, the default of this server, a transaction's plain reads may
 * be older than its locks, and the count that it reads then is not the one that it has locked.
 */
export function mysqlLanes({ lane: lanes }: MysqlTables, flavor: MysqlFlavor): Pick<Dialect, 'lockLanes' | 'meet'> {
  const lock = lockOn(flavor)
  const at = (topic: string, keys: readonly number[]): Statement =>
    sql`${keysOf(keys)} straight_join ${lanes} l force index (primary) on l.topic = ${topic} and l.lane = w.wanted`

  function* count(topic: string, locked: readonly Row[]): Verb<void> {
    const keys = locked.map(toLane)
    const seen = new Map((yield sql`select l.lane, l.polled from ${at(topic, keys)}`).map((row) => [toLane(row), row['polled']]))
    if (locked.some((row) => Number(seen.get(toLane(row))) !== Number(row['polled']))) throw readsArePast(topic)
    yield sql`update ${at(topic, keys)} set l.polled = l.polled + 1`
  }

  return {
    lockLanes: function* (topic, candidates, limit) {
      const wanted = yield sql`
        select ${laneOf(raw('c.identifier'))} as lane, min(c.place) as place
          from (${candidates}) c
         group by ${laneOf(raw('c.identifier'))}
         order by place`
      if (wanted.length === 0) return undefined
      const placeOf = new Map(wanted.map((row) => [toLane(row), row['place']]))
      // One after the other, in this order, and no more than are asked for.
      const locked = yield sql`
        select l.lane, l.polled from ${at(topic, [...placeOf.keys()])} limit ${limit} ${lock('l', 'skip')}`
      if (locked.length === 0) return undefined
      yield* count(topic, locked)
      const keys = locked.map(toLane)
      const last = Math.max(...keys.map((lane) => Number(placeOf.get(lane))))
      return {
        // A character for each lane: looked up at once, where a list would be read for every row.
        holds: (identifier) => sql`substring(${charactersOf(keys)}, ${laneOf(identifier)} + 1, 1) = '1'`,
        reaches: (place) => (keys.length < limit ? raw('true') : sql`${place} <= ${last}`),
      }
    },
    // Lanes of their own: a junction may wait for another, but not for polls, nor polls for it. In one order, against deadlocks.
    meet: function* (topic, identifiers) {
      const hashes = yield sql`
        select distinct ${laneOf(raw('w.wanted'))} as lane
          from json_table(${JSON.stringify(identifiers)}, '$[*]' columns (wanted varchar(500) character set utf8mb4 path '$')) w`
      const keys = hashes.map((row) => laneCount + toLane(row)).toSorted((left, right) => left - right)
      yield* count(topic, yield sql`select l.lane, l.polled from ${at(topic, keys)} ${lock('l', 'wait')}`)
    },
  }
}

/** For polls, and as many again for junctions. */
export function openMysqlLanes({ lane: lanes }: MysqlTables, topic: string): readonly Statement[] {
  const all = keysOf(Array.from({ length: 2 * laneCount }, (_, lane) => lane))
  return [sql`insert ignore into ${lanes} (topic, lane) select ${topic}, w.wanted from ${all}`]
}

function charactersOf(lanes: readonly number[]): string {
  const held = new Set(lanes)
  return Array.from({ length: laneCount }, (_, lane) => (held.has(lane) ? '1' : '0')).join('')
}

function laneOf(identifier: Statement): Statement {
  return sql`(crc32(${identifier}) & ${raw(String(laneCount - 1))})`
}

function toLane(row: Row): number {
  return toNumber(row['lane'])
}

function readsArePast(topic: string): TaskError {
  return new TaskError(
    'ISOLATION_UNSUPPORTED',
    `Topic "${topic}" can only be polled or joined at READ COMMITTED, and the transaction does not see what others have just committed`,
    { topic, needed: 'read committed' },
  )
}
