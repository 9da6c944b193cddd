/** Polls a topic with a singular condition by one call of a function on the server (singular-step.ts). */
import type { Claims, Plans } from '../../core/dialect.ts'
import type { Claim, ClaimRequest } from '../../core/requests.ts'
import { Templates } from '../../core/template.ts'
import { conditionNumber, orderNumber, toTopicMode } from '../../core/topic-mode.ts'
import type { TopicMode } from '../../core/topic-mode.ts'
import { raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Verb } from '../../core/verb.ts'
import { isolationUnsupported } from './lock-stripes.ts'
import { takeName } from './singular-step.ts'
import type { SingularOrder } from './singular-step.ts'
import type { PostgresTables } from './tables.ts'

interface Values extends Record<string, string | number | null> {
  readonly topic: string
  readonly owner: string
  readonly size: number
  readonly clock: number | null
}

export function claimByFunction(tables: PostgresTables, plans: Plans): NonNullable<Claims['singular']> {
  const texts = new Templates<Values>()
  return function* (request: ClaimRequest, mode: TopicMode): Verb<Claim> {
    const { topic, owner, size, now, columns } = request
    const values = { topic, owner, size, clock: now }
    const write = (filled: Values): Statement => callOf(tables, plans, mode, columns, filled)
    // By a test clock the columns have a value of their own.
    const statement = now === null ? texts.fill(`${mode.order} ${mode.condition}`, values, write) : write(values)
    const rows = yield statement
    const [status] = rows
    if (!status) return { rows: [], ownerKnown: false }
    plans.learn(Number(status['extent']))
    const isolation = String(status['isolation'])
    if (isolation !== 'read committed') throw isolationUnsupported(topic, isolation)
    return {
      rows: rows.filter(({ sequence }) => sequence !== null),
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
  { order, condition }: TopicMode,
  columns: Statement,
  { topic, owner, size, clock }: Values,
): Statement {
  const expected = sql`s.registered is not null and s.isolation = 'read committed' and s.ordering = ${raw(String(orderNumber(order)))} and s.condition = ${raw(String(conditionNumber(condition)))}`
  return sql`
    select ${columns}, case when t.sequence is null and t.listed then 1 end as more, s.ordering, s.condition, s.registered, s.isolation, s.extent
      from (select p.ordering, p.condition, (select 1 from ${tables.owner} o where o.owner = ${owner}) as registered,
                   pg_catalog.current_setting('transaction_isolation') as isolation, ${tableBytes} as extent
              from ${tables.topic} p
             where p.topic = ${topic}) s
      left join lateral ${takeName(tables, order as SingularOrder)}(${topic}, ${owner}, ${size}::int4, ${raw(String(conditionNumber(condition)))}, ${expected}, ${clock}::int8) t on true`
}
