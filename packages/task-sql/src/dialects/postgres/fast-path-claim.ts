import type { ClaimRequest } from '../../core/requests.ts'
import { heldNames } from '../../core/task-row.ts'
import { nothing, raw, sql } from '../../core/statement.ts'
import type { SqlValue, Statement } from '../../core/statement.ts'
import type { Row } from '../../core/verb.ts'
import type { PostgresTables } from './tables.ts'
import { activate, historyOf, sessionsRun, topicOf } from './claim-statement.ts'
import type { ClaimReport } from './claim-statement.ts'
import type { TopicWatermarks } from './watermarks.ts'
import { chunkBits, chunkOf } from './claim-ledger.ts'
import { inTopic, ready } from './topic.ts'
import { Templates } from '../../core/template.ts'

/** How many polls and tasks may follow until a claim learns again. Each poll reads past the tasks that were done since then. */
const budget = 32

interface Known extends Record<string, SqlValue> {
  readonly topic: SqlValue
  readonly owner: SqlValue
  readonly size: SqlValue
  readonly history: SqlValue
  readonly floor: SqlValue
  readonly chunk: SqlValue
}

/**
 * Claims that neither learn nor record anything, which saves half the work. A quiet topic is polled in this way between two ordinary
 * claims: its low watermark is known, and every row that may be taken lies in a chunk that the ledger already has for this owner.
 *
 * The statement checks all of its assumptions itself: the history of the database and of the topic (and therefore its order), the owner,
 * and the record in the ledger. No sequence beyond the chunk may have been drawn, and no row may be listed. The transaction must have
 * written nothing, because it would not skip rows that it has locked itself. If an assumption is wrong, the statement takes no tasks
 * and returns no row at all.
 *
 * No row outside the recorded chunk can be taken, because the statement takes only rows above the low watermark. The process compares
 * the chunk of the first such sequence before it sends the statement. The statement compares the chunk of the last drawn sequence.
 */
export class FastPathClaims {
  readonly #known = new Map<string, { readonly chunk: number; left: number }>()
  readonly #filled = new Templates<Known>()
  readonly #tables: PostgresTables

  constructor(tables: PostgresTables) {
    this.#tables = tables
  }

  /** The statement of a fast-path claim; undefined if it would probably take no tasks. */
  statement(request: ClaimRequest, { history, low: floor, pending }: TopicWatermarks): Statement | undefined {
    const { topic, owner, size, mayLock, now } = request
    const known = this.#known.get(keyOf(request))
    if (known === undefined || known.left <= 0 || pending !== undefined || mayLock) return undefined
    if (chunkOf(floor + 1) !== known.chunk) return undefined
    const values = { topic, owner, size, history, floor, chunk: known.chunk }
    const write = (places: Known): Statement => fastPathStatement(this.#tables, request, places)
    // mutants: equivalent string `''`, these templates have only one kind
    // mutants: equivalent condition:false, a statement that is written each time only takes longer
    return now === null ? this.#filled.fill('', values, write) : write(values)
  }

  spend(request: ClaimRequest, rows: number): void {
    const known = this.#known.get(keyOf(request))
    if (known) known.left -= 1 + rows
  }

  forget(request: ClaimRequest): void {
    this.#known.delete(keyOf(request))
  }

  /**
   * Learns from the report of an ordinary claim. `last` is the sequence of a row that the claim took and recorded. A claim that took no
   * tasks reports no new xid horizon, so later claims would read past as many rows as before.
   */
  learn(request: ClaimRequest, { high: bound }: ClaimReport, last: number | undefined): void {
    if (last === undefined) return
    const chunk = chunkOf(last)
    if (chunk === chunkOf(bound)) this.#known.set(keyOf(request), { chunk, left: budget })
    else this.forget(request)
  }
}

/** The key has the owner too, because several owners of one process may share a dialect. */
function keyOf({ owner, topic }: ClaimRequest): string {
  return `${owner} ${topic}`
}

/**
 * The rows that were taken, and one more if all assumptions were right. That one has the number of locked rows: a locked row to which
 * another transaction has written meanwhile is not taken.
 */
function fastPathStatement(tables: PostgresTables, { columns, now }: ClaimRequest, known: Known): Statement {
  const { task, topic, owner, holding, partitioned } = tables
  const own = topicOf(tables, known.topic)
  // mutants: equivalent condition `partitioned ? known.topic : raw('p.topic')`, a value or a column, it is the same topic
  // mutants: equivalent condition:true `partitioned ? sql`, all these rows are of the topic
  return sql`
    with start as materialized (
      select p.topic, ${known.floor}::int8 as floor, ${known.size}::int8 as size
        from ${topic} p, ${owner} o
       where p.topic = ${known.topic}
         and ${historyOf(tables, raw(sessionsRun))} = ${known.history}
         and o.owner = ${known.owner}
         and exists (select from ${holding} h where h.topic = p.topic and h.owner = o.owner and h.chunk = ${known.chunk}::int8)
         and pg_catalog.pg_current_xact_id_if_assigned() is null
         and pg_catalog.pg_sequence_last_value(${tables.sequenceClass}) between ${known.floor}::int8 and ((${known.chunk}::int8 + 1) << ${raw(String(chunkBits))}) - 1
         and not exists (select from ${task} t where ${inTopic(tables, partitioned ? known.topic : raw('p.topic'))} and t.listed and ${ready})),
    fresh as materialized (
      select t.ctid as place
        from ${task} t
       where ${inTopic(tables, own, sql`(select floor from start)`)} and ${ready}
       order by t.topic, t.sequence
       limit (select size from start)
         for update skip locked),
    claimed as (${activate(tables, known.owner, now)}
        from fresh
       where t.ctid = fresh.place${partitioned ? sql` and t.topic = ${known.topic}` : nothing}
      returning ${columns})
    select ${heldNames} from claimed
     union all
    select null, null, (select count(*)::int from fresh), null, null, null from start`
}

/** The rows that a fast-path claim took. `isWhole` says whether its assumptions were right and it took every row that it locked. */
export function toFastPathClaim(rows: readonly Row[]): { readonly rows: readonly Row[]; readonly isWhole: boolean } {
  const taken = rows.filter(({ sequence }) => sequence !== null)
  const locked = rows.find(({ sequence }) => sequence === null)?.['attempt']
  return { rows: taken, isWhole: locked === taken.length }
}
