/** Polls a topic that keeps outcomes by one call of a function on the server (take-function.ts), or by two if the answer is long. */
import type { Plans, Ranges } from '../../../core/dialect.ts'
import type { Claim, ClaimRequest } from '../../../core/requests.ts'
import { Templates } from '../../../core/template.ts'
import { toNumber } from '../../../core/task-row.ts'
import { outcomesOrdering, toTopicMode } from '../../../core/topic-mode.ts'
import { states } from '../../../core/states.ts'
import { raw, sql } from '../../../core/statement.ts'
import type { Statement } from '../../../core/statement.ts'
import type { Verb } from '../../../core/verb.ts'
import { isolationUnsupported } from '../lock-stripes.ts'
import type { PostgresTables } from '../tables.ts'
import { inTopic } from '../topic.ts'
import { arrayLiteral } from '../values.ts'
import { fresh, rangeStates } from './range-states.ts'
import { answers } from './answers.ts'
import { takeRangesName } from './take-function.ts'

interface Values extends Record<string, string | number | null> {
  readonly topic: string
  readonly owner: string
  readonly size: number
  readonly clock: number | null
}

interface Fetched extends Record<string, string | number | null> {
  readonly topic: string
  readonly owner: string
  readonly first: string
}

export function claimRanges(tables: PostgresTables, plans: Plans): Ranges['claim'] {
  const calls = new Templates<Values>()
  const fetches = new Templates<Fetched>()
  return function* (request: ClaimRequest): Verb<Claim> {
    const first = yield* claim(request)
    let { more } = first
    const [rows, ranged] = [[...first.rows], [...(first.ranged ?? [])]]
    // What is late comes alone, so that there may be room for more. Nobody waits for what others are taking.
    while (more && rows.length + ranged.length > 0 && rows.length + ranged.length < request.size) {
      const next = yield* claim({ ...request, size: request.size - rows.length - ranged.length })
      if (next.rows.length === 0 && next.ranged!.length === 0) break
      rows.push(...next.rows)
      ranged.push(...next.ranged!)
      more = next.more
    }
    return { ...first, rows, ranged, more: more === true }
  }

  function* claim(request: ClaimRequest): Verb<Claim> {
    const { topic, owner, size, now, columns } = request
    const call = (filled: Values): Statement => callOf(tables, plans, columns, filled)
    const values = { topic, owner, size, clock: now }
    // By a test clock the columns have a value of their own.
    const rows = yield now === null ? calls.fill('', values, call) : call(values)
    const [status] = rows
    if (!status) return { rows: [], ownerKnown: false }
    plans.learn(Number(status['extent']))
    const isolation = String(status['isolation'])
    if (isolation !== 'read committed') throw isolationUnsupported(topic, isolation)
    const isAnswer = (answer: number) => (row: (typeof rows)[number]) =>
      row['sequence'] !== null && Number(row['answer']) === answer
    const asRows = rows.filter(isAnswer(answers.row))
    const inRanges = rows.filter(isAnswer(answers.ranged))
    for (const { sequence } of rows.filter(isAnswer(answers.fetch))) {
      const fetch = (filled: Fetched): Statement => fetchOf(tables, columns, filled)
      const asked = { topic, owner, first: String(toNumber(sequence)) }
      inRanges.push(...(yield now === null ? fetches.fill('', asked, fetch) : fetch(asked)))
    }
    const numbers = rows.filter(isAnswer(answers.fetchRow)).map(({ sequence }) => toNumber(sequence))
    if (numbers.length > 0) asRows.push(...(yield takenOf(tables, columns, topic, owner, numbers)))
    return {
      rows: asRows,
      ranged: inRanges,
      mode: toTopicMode(status['ordering'], status['condition']),
      ownerKnown: status['registered'] !== null,
      more: rows.some(({ more }) => more !== null),
    }
  }
}

/** One row at least, if the topic is known. The function decides whether to take any by its argument, so that it is called once in any case. */
function callOf(
  tables: PostgresTables,
  { tableBytes }: Plans,
  columns: Statement,
  { topic, owner, size, clock }: Values,
): Statement {
  const expected = sql`s.registered is not null and s.isolation = 'read committed' and s.ordering = ${raw(String(outcomesOrdering))}`
  return sql`
    select ${columns}, t.state as answer, case when t.topic is not null and t.sequence is null then 1 end as more, s.ordering, s.condition, s.registered, s.isolation, s.extent
      from (select s.*, ${expected} as may
              from (select p.ordering, p.condition, (select 1 from ${tables.owner} o where o.owner = ${owner}) as registered,
                           pg_catalog.current_setting('transaction_isolation') as isolation, ${tableBytes} as extent
                      from ${tables.topic} p
                     where p.topic = ${topic}) s) s
      left join lateral ${takeRangesName(tables)}(${topic}, ${owner}, ${size}::int4, s.may, ${clock}::int8) t on true`
}

/** The tasks of a range that this owner has just taken. */
function fetchOf(tables: PostgresTables, columns: Statement, { topic, owner, first }: Fetched): Statement {
  return sql`
    select ${columns}
      from (select t.*
              from (select r.lo, r.hi, r.given from ${tables.range} r
                     where r.topic = ${topic} and r.lo = ${first}::int8 and r.owner = ${owner} and r.state = ${rangeStates.active}) r,
                   lateral (select t.*
                              from ${tables.task} t
                             where ${inTopic(tables, topic, raw('(r.lo - 1)'), raw('(r.hi + 1)'))} and ${fresh}
                             order by t.topic, t.sequence
                             limit r.given) t) t`
}

/** Tasks that this owner has just taken as rows. */
function takenOf(
  tables: PostgresTables,
  columns: Statement,
  topic: string,
  owner: string,
  sequences: readonly number[],
): Statement {
  return sql`
    select ${columns}
      from ${tables.task} t
     where t.topic = ${topic} and t.sequence = any ((select ${arrayLiteral(sequences)}::int8[])::int8[])
       and t.state = ${states.active} and t.owner = ${owner}`
}
