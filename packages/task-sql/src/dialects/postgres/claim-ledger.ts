import type { Claims } from '../../core/dialect.ts'
import { states } from '../../core/states.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import { inTopic } from './topic.ts'
import type { Verb } from '../../core/verb.ts'
import type { PostgresTables } from './tables.ts'

/** A row of the claim ledger stands for a chunk of 2^13 sequences: an owner writes one row for 8192 tasks, not one for each. */
export const chunkBits = 13

export function chunkOf(sequence: number): number {
  return Math.floor(sequence / 2 ** chunkBits)
}

/** A bound (exclusive) for the sequences of a chunk. For `chunk` it is the sequence before its first, for `chunk + 1` that chunk's first. */
export const firstOf = (chunk: string): Statement =>
  // mutants: equivalent result, for each record the whole topic is read, which only takes longer
  raw(chunk.endsWith('+ 1') ? `((${chunk}) << ${chunkBits})` : `((${chunk} << ${chunkBits}) - 1)`)

/** How many chunks one `tidy` reads at most. A chunk is at most 8192 rows of the primary key. */
// mutants: equivalent number, one more or less is as good
const tidySize = 64

/**
 * Finds the tasks that an owner holds without an index on owner or state: in the chunks that the owner's polls have recorded, and among
 * the listed rows.
 */
export function claimLedger(tables: PostgresTables): Pick<Claims, 'claimedBy' | 'record' | 'tidy'> {
  return {
    // In a topic that lists its rows from the start, the ledger has all held rows. In other topics few rows are listed.
    // The `coalesce` is for the planner: an active row has an owner.
    // mutants: equivalent sql-limit `limit ${limit}`, the limit on both is what counts
    // mutants: equivalent sql-literal sql-coalesce `coalesce(t.state = ${states.active} and t.owner = noted.owner, false)`, never null
    // mutants: equivalent sql-literal sql-coalesce `coalesce(t.state = ${states.active} and ${condition(raw('t.owner'))}, false)`, never null
    claimedBy: (condition, limit, how) => sql`
      select topic, sequence, owner
        from (select t.topic, t.sequence, t.owner
                from (select distinct h.topic, h.owner, h.chunk, p.listing
                        from ${tables.holding} h
                        join ${tables.topic} p on p.topic = h.topic
                       where ${condition(raw('h.owner'))}) noted,
                     lateral (select t.topic, t.sequence, t.owner
                                from ${tables.task} t
                               where ${inTopic(tables, raw('noted.topic'), firstOf('noted.chunk'), firstOf('noted.chunk + 1'))}
                                 and coalesce(t.state = ${states.active} and t.owner = noted.owner, false)
                                 and (noted.listing or not t.listed)
                               order by t.topic, t.sequence
                               limit ${limit}::int8
                                 ${how ? nothing : raw('for update skip locked')}) t
               union all
              select t.topic, t.sequence, t.owner
                from ${tables.topic} p,
                     lateral (select t.topic, t.sequence, t.owner
                                from ${tables.task} t
                               where ${inTopic(tables, raw('p.topic'))}
                                 and t.listed
                                 and coalesce(t.state = ${states.active} and ${condition(raw('t.owner'))}, false)
                               order by t.topic, t.sequence
                               limit ${limit}::int8
                                 ${how ? nothing : raw('for update skip locked')}) t
               where not p.listing) held
       limit ${limit}::int8`,
    record: (topic, owner, sequences) => recordClaims(tables, topic, owner, sequences),
    tidy: function* () {
      // A node at rest asks this again and again, so one statement says whether there is anything to do.
      const [some] = yield sql`
        select exists (select from ${ofTopics(tables)} where ${isPassed}) as passed,
               exists (select from ${ofTopics(tables)} where p.listing) as listing`
      if (some!['passed'] === true) yield* tidyPassed(tables)
      if (some!['listing'] === true) yield* tidyListing(tables)
    },
  }
}

function ofTopics({ holding, topic }: PostgresTables): Statement {
  return sql`${holding} h join ${topic} p on p.topic = h.topic`
}

/** Whether polls take tasks from the chunk of a record only through the ready list. */
const isPassed = sql`not p.listing and (h.chunk + 1) << ${raw(String(chunkBits))} <= p.floor`

/**
 * Deletes the records of chunks below the persisted low watermark: polls take tasks from such chunks only through the ready list.
 * Their rows that are still held are listed first. A row that is being completed at this moment still reads as held; its chunk is
 * left for the next time.
 */
function* tidyPassed(tables: PostgresTables): Verb<void> {
  // mutants: equivalent sql-distinct `select distinct h.topic`, the second of two equal records finds nothing to do
  // mutants: equivalent sql-limit `limit ${tidySize}`, one more or less is as good
  const chunks = yield sql`
    select distinct h.topic, h.owner, h.chunk::text as chunk
      from ${ofTopics(tables)}
     where ${isPassed}
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
 * Records the chunks of these sequences. Existing records are locked until the transaction ends, so that `tidy` does not delete them
 * before the rows that need them are committed. A record that is being deleted at this moment is written again.
 */
function* recordClaims(tables: PostgresTables, topic: string, owner: string, sequences: readonly number[]): Verb<void> {
  const chunks = new Set(sequences.map(chunkOf))
  // mutants: equivalent condition:false, nothing would be found or written
  if (chunks.size === 0) return
  const noted = yield sql`
    select h.chunk
      from ${tables.holding} h
     where h.topic = ${topic} and h.owner = ${owner} and h.chunk = any (${`{${[...chunks].join(',')}}`}::int8[])
       for share skip locked`
  for (const { chunk } of noted) chunks.delete(Number(chunk))
  // mutants: equivalent condition:false, nothing would be written
  if (chunks.size === 0) return
  yield sql`
    insert into ${tables.holding} (topic, owner, chunk)
    select ${topic}, ${owner}, chunk
      from pg_catalog.unnest(${`{${[...chunks].join(',')}}`}::int8[]) chunk`
}

/**
 * Deletes records of topics that list their rows from the start, where polls may take tasks from any chunk again. The records are
 * locked first. Only a statement that begins afterwards sees all that polls have taken, and knows which records are still needed. An
 * older snapshot would not show those tasks.
 */
function* tidyListing(tables: PostgresTables): Verb<void> {
  // mutants: equivalent sql-order `order by h.chunk`, any of them will do, and nobody waits for their locks
  // mutants: equivalent sql-limit `limit ${tidySize}`, one more or less is as good
  const locked = yield sql`
    select h.ctid::text as place
      from ${ofTopics(tables)}
     where p.listing
       and pg_catalog.current_setting('transaction_isolation') = 'read committed'
     order by h.chunk
     limit ${tidySize}
       for update of h skip locked`
  // mutants: equivalent condition:false, nothing would be deleted
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
