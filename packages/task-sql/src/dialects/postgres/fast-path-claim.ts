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

/** So many polls and tasks until a claim learns again: what was done since is what the next one passes over. */
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
 * Claims that learn nothing and note nothing, which is half the work. Between two of the others a quiet topic is polled so: its low watermark is
 * known, and every row that may yet be taken lies in the chunk in which this owner is noted already.
 *
 * Nothing is taken on trust. The statement itself looks whether all that is supposed is so: the history of the database and of the topic
 * (and so its order), the owner, the note, that no sequence beyond the chunk was drawn, that no row is listed, and that its transaction has
 * written nothing, which could be locks of its own. Otherwise it takes nothing, and returns no row at all.
 *
 * Why no row outside the noted chunk can be taken: the statement takes rows above the low watermark only. The chunk of the first such sequence is
 * compared before it is sent, and the chunk of the last sequence drawn within it.
 */
export class FastPathClaims {
  readonly #known = new Map<string, { readonly chunk: number; left: number }>()
  readonly #filled = new Templates<Known>()
  readonly #tables: PostgresTables

  constructor(tables: PostgresTables) {
    this.#tables = tables
  }

  /** The statement, where there is hope that it will do. */
  statement(request: ClaimRequest, { history, low: floor, pending }: TopicWatermarks): Statement | undefined {
    const { topic, owner, size, mayLock, now } = request
    const known = this.#known.get(keyOf(request))
    if (known === undefined || known.left <= 0 || pending !== undefined || mayLock) return undefined
    if (chunkOf(floor + 1) !== known.chunk) return undefined
    const values = { topic, owner, size, history, floor, chunk: known.chunk }
    const write = (places: Known): Statement => fastPathStatement(this.#tables, request, places)
    // mutants: equivalent string `''`, there is one kind
    // mutants: equivalent condition:false, it is written anew each time, which takes longer
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
   * Takes up what another claim reported: `last` is a row that it took, and noted. One that takes nothing learns nothing that would make
   * those after it pass over less.
   */
  learn(request: ClaimRequest, { high: bound }: ClaimReport, last: number | undefined): void {
    if (last === undefined) return
    const chunk = chunkOf(last)
    if (chunk === chunkOf(bound)) this.#known.set(keyOf(request), { chunk, left: budget })
    else this.forget(request)
  }
}

/** Owners share a dialect where one process has several. */
function keyOf({ owner, topic }: ClaimRequest): string {
  return `${owner} ${topic}`
}

/** One row more says that all was as supposed, and how many rows were locked: those that were written to meanwhile are not among the others. */
function fastPathStatement(tables: PostgresTables, { columns, now }: ClaimRequest, known: Known): Statement {
  const { task, topic, owner, holding, partitioned } = tables
  const own = topicOf(tables, known.topic)
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

/** What a fast-path claim took, and whether that was all that there was to take. */
export function toFastPathClaim(rows: readonly Row[]): { readonly rows: readonly Row[]; readonly isWhole: boolean } {
  const taken = rows.filter(({ sequence }) => sequence !== null)
  const locked = rows.find(({ sequence }) => sequence === null)?.['attempt']
  return { rows: taken, isWhole: locked === taken.length }
}
