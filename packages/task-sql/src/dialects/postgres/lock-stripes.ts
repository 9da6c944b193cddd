import { TaskError } from '@taskstream/task-api'
import type { Locks } from '../../core/dialect.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { PostgresTables } from './tables.ts'

/** The number of stripes, a power of two. Identifiers that share a stripe delay each other, but only while a poll's transaction lasts. */
const stripeCount = 1024

/** Lock stripes as rows of a table, because row locks take no room in the server's lock table. */
export function lockStripes({ lane: stripes }: PostgresTables): Pick<Locks, 'stripes' | 'junction'> {
  return {
    stripes: function* (topic, candidates, limit) {
      // A place may be beyond 2^53, so it is read as text: clients may be set to read whole numbers as JavaScript numbers.
      // The lateral subquery locks each stripe when it is reached: stripes are locked in order, and no more than `limit`.
      const rows = yield sql`
        select wanted.lane, wanted.place::text as place, pg_catalog.current_setting('transaction_isolation') as isolation
          from (select ${stripeOf(raw('c.identifier'))} as lane, min(c.place) as place
                  from (${candidates}) c
                 group by 1
                 order by 2) wanted,
               lateral (select l.lane
                          from ${stripes} l
                         where l.topic = ${topic} and l.lane = wanted.lane
                           for update skip locked) free
         limit ${limit}`
      const isolation = rows[0]?.['isolation']
      if (isolation === undefined) return undefined
      if (isolation !== 'read committed') throw isolationUnsupported(topic, String(isolation))
      const locked = `{${rows.map(({ lane }) => Number(lane)).join(',')}}`
      return {
        holds: (identifier) => sql`${stripeOf(identifier)} = any (${locked}::int4[])`,
        reaches: (place) => (rows.length < limit ? raw('true') : sql`${place} <= ${String(rows.at(-1)?.['place'])}::int8`),
        all: rows.length < limit,
      }
    },
    // Junctions have their own stripes: a junction may wait for another one, but polls and junctions never wait for each other. All
    // junctions lock stripes in the same order, so that they cannot deadlock.
    junction: function* (topic, identifiers) {
      const rows = yield sql`
        select l.lane, pg_catalog.current_setting('transaction_isolation') as isolation
          from ${stripes} l
         where l.topic = ${topic}
           and l.lane in (select ${stripeCount}::int4 + ${stripeOf(raw('r.identifier'))}
                            from pg_catalog.unnest(array(select pg_catalog.jsonb_array_elements_text(${JSON.stringify(identifiers)}::jsonb))) r (identifier))
         order by l.lane
           for update of l`
      const isolation = String(rows[0]?.['isolation'] ?? 'read committed')
      if (isolation !== 'read committed') throw isolationUnsupported(topic, isolation)
    },
  }
}

/** Makes the missing lock stripes of a topic: the first half is for polls, the second half for junctions. */
export function openStripes({ lane: stripes }: PostgresTables, topic: string): Statement {
  return sql`
    insert into ${stripes} (topic, lane)
    select ${topic}, lane
      from pg_catalog.generate_series(0, ${2 * stripeCount - 1}::int4) as lane
        on conflict (topic, lane) do nothing`
}

export function stripeOf(identifier: Statement): Statement {
  return sql`(pg_catalog.hashtextextended(${identifier}, 0) & ${raw(String(stripeCount - 1))})::int4`
}

export function isolationUnsupported(topic: string, found: string): TaskError {
  return new TaskError(
    'ISOLATION_UNSUPPORTED',
    `Topic "${topic}" can only be polled or joined at READ COMMITTED, and the transaction is at ${found.toUpperCase()}: what others have just committed would go unseen`,
    { topic, found, needed: 'read committed' },
  )
}
