import type { Dialect } from '../dialect.ts'
import { raw, sql } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import type { PostgresTables } from '../schema/postgres-tables.ts'

/** A holding row stands for 2^13 sequences: an owner writes one for every 8192 tasks it passes, not one for each task. */
export const chunkBits = 13

/** Chunks looked through in one tidying; each is at most 8192 rows of the primary key. */
const tidySize = 64

/**
 * Finding what an owner holds, without an index on owner or state: through the chunks that its polls noted, and among the
 * listed rows.
 */
export function postgresHoldings(tables: PostgresTables): Pick<Dialect, 'heldBy' | 'tidy'> {
  return {
    heldBy: (condition, limit) => sql`
      select topic, sequence
        from (select topic, sequence
                from (select t.topic, t.sequence
                        from (select distinct h.topic, h.owner, h.chunk from ${tables.holding} h where ${condition(raw('h.owner'))}) noted
                        join ${tables.task} t
                          on t.topic = noted.topic
                         and t.sequence >= noted.chunk << ${chunkBits}::int
                         and t.sequence < (noted.chunk + 1) << ${chunkBits}::int
                         and t.state = 0
                         and t.owner = noted.owner
                         and not t.listed
                       limit ${limit}::int8
                         for update of t skip locked) fresh
               union all
              select topic, sequence
                from (select t.topic, t.sequence
                        from ${tables.task} t
                       where t.listed and t.state = 0 and ${condition(raw('t.owner'))}
                       limit ${limit}::int8
                         for update of t skip locked) listed) held
       limit ${limit}::int8`,
    tidy: () => tidy(tables),
  }
}

/**
 * Chunks that lie below the persisted floor can never be polled from again, other than through the list: rows there that are
 * still held are put on the list, and their chunks are forgotten. A chunk with a row that is being completed at this moment
 * still reads as held, and is left for the next time.
 */
function* tidy(tables: PostgresTables): Verb<void> {
  const chunks = yield sql`
    select distinct h.topic, h.owner, h.chunk::text as chunk
      from ${tables.holding} h
      join ${tables.topic} p on p.topic = h.topic
     where (h.chunk + 1) << ${chunkBits}::int <= p.floor
     limit ${tidySize}`
  for (const { topic, owner, chunk } of chunks) {
    const inChunk = sql`
          t.topic = ${String(topic)}
      and t.sequence >= ${String(chunk)}::int8 << ${chunkBits}::int
      and t.sequence < (${String(chunk)}::int8 + 1) << ${chunkBits}::int
      and t.state = 0
      and t.owner = ${String(owner)}
      and not t.listed`
    yield sql`
      update ${tables.task} t
         set listed = true
        from (select t.topic, t.sequence from ${tables.task} t where ${inChunk} for update skip locked) held
       where t.topic = held.topic and t.sequence = held.sequence`
    yield sql`
      delete from ${tables.holding} h
       where h.topic = ${String(topic)} and h.owner = ${String(owner)} and h.chunk = ${String(chunk)}::int8
         and not exists (select from ${tables.task} t where ${inChunk})`
  }
}
