import type { Claims } from '../../core/dialect.ts'
import { states } from '../../core/states.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import { inTopic } from './topic.ts'
import type { Verb } from '../../core/verb.ts'
import type { PostgresTables } from './tables.ts'

/** A holding row stands for 2^13 sequences: an owner writes one for every 8192 tasks it passes, not one for each task. */
export const chunkBits = 13

/** The chunk in which a sequence lies. */
export function chunkOf(sequence: number): number {
  return Math.floor(sequence / 2 ** chunkBits)
}

/** The sequence before the first of a chunk; and, of the next one, before which the last lies. */
const firstOf = (chunk: string): Statement =>
  raw(chunk.endsWith('+ 1') ? `((${chunk}) << ${chunkBits})` : `((${chunk} << ${chunkBits}) - 1)`)

/** Chunks looked through in one tidying; each is at most 8192 rows of the primary key. */
const tidySize = 64

/**
 * Finding what an owner holds, without an index on owner or state: through the chunks that its polls noted, and among the
 * listed rows.
 */
export function claimLedger(tables: PostgresTables): Pick<Claims, 'claimedBy' | 'record' | 'tidy'> {
  return {
    // A topic whose rows are listed from the start has all that is held in the ledger; elsewhere listed rows are few.
    claimedBy: (condition, limit) => sql`
      select topic, sequence
        from (select t.topic, t.sequence
                from (select distinct h.topic, h.owner, h.chunk, p.listing
                        from ${tables.holding} h
                        join ${tables.topic} p on p.topic = h.topic
                       where ${condition(raw('h.owner'))}) noted,
                     lateral (select t.topic, t.sequence
                                from ${tables.task} t
                               where ${inTopic(tables, raw('noted.topic'), firstOf('noted.chunk'), firstOf('noted.chunk + 1'))}
                                 and coalesce(t.state = ${states.active} and t.owner = noted.owner, false)
                                 and (noted.listing or not t.listed)
                               order by t.topic, t.sequence
                               limit ${limit}::int8
                                 for update skip locked) t
               union all
              select t.topic, t.sequence
                from ${tables.topic} p,
                     lateral (select t.topic, t.sequence
                                from ${tables.task} t
                               where ${inTopic(tables, raw('p.topic'))}
                                 and t.listed
                                 and coalesce(t.state = ${states.active} and ${condition(raw('t.owner'))}, false)
                               order by t.topic, t.sequence
                               limit ${limit}::int8
                                 for update skip locked) t
               where not p.listing) held
       limit ${limit}::int8`,
    record: (topic, owner, sequences) => recordClaims(tables, topic, owner, sequences),
    tidy: function* () {
      yield* tidyPassed(tables)
      yield* tidyListing(tables)
    },
  }
}

/**
 * Chunks that lie below the persisted low watermark can never be polled from again, other than through the list: rows there that are
 * still held are put on the list, and their chunks are forgotten. A chunk with a row that is being completed at this moment
 * still reads as held, and is left for the next time.
 */
function* tidyPassed(tables: PostgresTables): Verb<void> {
  const chunks = yield sql`
    select distinct h.topic, h.owner, h.chunk::text as chunk
      from ${tables.holding} h
      join ${tables.topic} p on p.topic = h.topic
     where not p.listing and (h.chunk + 1) << ${chunkBits}::int <= p.floor
     limit ${tidySize}`
  for (const { topic, owner, chunk } of chunks) {
    const inChunk = sql`
          t.topic = ${String(topic)}
      and t.sequence >= ${String(chunk)}::int8 << ${chunkBits}::int
      and t.sequence < (${String(chunk)}::int8 + 1) << ${chunkBits}::int
      and t.state = ${states.active}
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

/**
 * Notes that are there already are locked until the transaction ends, so that nobody tidies them away while rows that need them
 * are not committed yet. One that is being tidied away at this moment is written anew.
 */
function* recordClaims(tables: PostgresTables, topic: string, owner: string, sequences: readonly number[]): Verb<void> {
  const chunks = new Set(sequences.map(chunkOf))
  if (chunks.size === 0) return
  const noted = yield sql`
    select h.chunk
      from ${tables.holding} h
     where h.topic = ${topic} and h.owner = ${owner} and h.chunk = any (${`{${[...chunks].join(',')}}`}::int8[])
       for share skip locked`
  for (const { chunk } of noted) chunks.delete(Number(chunk))
  if (chunks.size === 0) return
  yield sql`
    insert into ${tables.holding} (topic, owner, chunk)
    select ${topic}, ${owner}, chunk
      from pg_catalog.unnest(${`{${[...chunks].join(',')}}`}::int8[]) chunk`
}

/**
 * Where rows are listed from the start any chunk may be polled from again. First its notes are locked, and only a statement that
 * begins then, and sees what polls before it have taken, says whether they are still needed. In an older snapshot none would.
 */
function* tidyListing(tables: PostgresTables): Verb<void> {
  const locked = yield sql`
    select h.ctid::text as place
      from ${tables.holding} h
      join ${tables.topic} p on p.topic = h.topic
     where p.listing
       and pg_catalog.current_setting('transaction_isolation') = 'read committed'
     order by h.chunk
     limit ${tidySize}
       for update of h skip locked`
  if (locked.length === 0) return
  yield sql`
    delete from ${tables.holding} h
     where h.ctid = any (${`{${locked.map(({ place }) => `"${String(place)}"`).join(',')}}`}::tid[])
       and not exists (
           select from ${tables.task} t
            where t.topic = h.topic
              and t.sequence >= h.chunk << ${chunkBits}::int
              and t.sequence < (h.chunk + 1) << ${chunkBits}::int
              and t.state = ${states.active}
              and t.owner = h.owner)`
}
