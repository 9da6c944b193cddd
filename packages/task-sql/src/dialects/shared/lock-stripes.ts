/**
 * Lanes as rows of a table. Whoever has locked a lane counts it: where a transaction's plain reads may be older than its locks, the count tells
 * that others have been there since.
 */
import type { Locks } from '../../core/dialect.ts'
import type { Selection } from '../../core/requests.ts'
import { toNumber } from '../../core/task-row.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Row, Verb } from '../../core/verb.ts'

/** A power of two. Identifiers that share a lane delay each other for as long as a poll's transaction lasts, and no more. */
export const laneCount = 1024

/** For polls, and as many again for junctions. */
export const allLanes: readonly number[] = Array.from({ length: 2 * laneCount }, (_, lane) => lane)

interface Parts {
  /** The lane of an identifier, below `laneCount`. */
  laneOf(identifier: Statement): Statement
  /** Texts as the column `wanted` of a table `w`. */
  textsOf(texts: readonly string[]): Statement
  /** Locks lanes one after the other, in the order given and at most so many, and counts them. @returns which */
  lock(topic: string, lanes: readonly number[], locked: Selection['locked'], limit?: number): Verb<readonly number[]>
}

export function countedLanes({ laneOf, textsOf, lock }: Parts): Pick<Locks, 'lanes' | 'junction'> {
  return {
    lanes: function* (topic, candidates, limit) {
      const wanted = yield sql`
        select ${laneOf(raw('c.identifier'))} as lane, min(c.place) as nearest
          from (${candidates}) c
         group by ${laneOf(raw('c.identifier'))}
         order by nearest`
      if (wanted.length === 0) return undefined
      const placeOf = new Map(wanted.map((row) => [toLane(row), row['nearest']]))
      const lanes = yield* lock(topic, [...placeOf.keys()], 'skip', limit)
      if (lanes.length === 0) return undefined
      const last = Math.max(...lanes.map((lane) => Number(placeOf.get(lane))))
      return {
        // A character for each lane: looked up at once, where a list would be read for every row.
        holds: (identifier) => sql`substr(${charactersOf(lanes)}, ${laneOf(identifier)} + 1, 1) = '1'`,
        reaches: (place) => (lanes.length < limit ? raw('1 = 1') : sql`${place} <= ${last}`),
        all: lanes.length < limit,
      }
    },
    // Lanes of their own: a junction may wait for another, but not for polls, nor polls for it. In one order, against deadlocks.
    junction: function* (topic, identifiers) {
      const hashes = yield sql`select distinct ${laneOf(raw('w.wanted'))} as lane from ${textsOf(identifiers)}`
      const lanes = hashes.map((row) => laneCount + toLane(row)).toSorted((left, right) => left - right)
      yield* lock(topic, lanes, 'wait')
    },
  }
}

/** Lanes that are there are not written to: whoever polls has locked some. */
export function* openMissing(lanes: Statement, topic: string, open: readonly Statement[]): Verb<number> {
  const [row] = yield sql`select count(*) as count from ${lanes} l where l.topic = ${topic}`
  if (toNumber(row?.['count']) < allLanes.length) for (const statement of open) yield statement
  return 0
}

export function toLane(row: Row): number {
  return toNumber(row['lane'])
}

function charactersOf(lanes: readonly number[]): string {
  const held = new Set(lanes)
  return Array.from({ length: laneCount }, (_, lane) => (held.has(lane) ? '1' : '0')).join('')
}
