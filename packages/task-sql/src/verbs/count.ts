import { checkNames, checkTopic, verbOptions } from '@taskstream/task-api'
import type { CountOptions, FilterState, TaskCount } from '@taskstream/task-api'
import { nothing, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import { topicUnknown } from '../core/verb-context.ts'
import type { Context } from '../core/verb-context.ts'
import { filterStateNumber, toFilterState } from './filter-state.ts'
import { isNeeded } from './dependencies.ts'
import { meets } from './filter.ts'
import { toNumber } from '../core/task-row.ts'

export function* count(
  { dialect }: Context,
  options: CountOptions = {},
): Verb<ReadonlyMap<string, ReadonlyMap<FilterState, TaskCount>>> {
  checkNames(verbOptions.count, options)
  const { topic, recent = false, unneeded = false, states, ...filter } = options
  if (topic !== undefined) checkTopic(topic)
  // mutants: equivalent condition:true, the topics are chosen again outside
  const of = (alias: Statement): Statement => (topic === undefined ? sql`1 = 1` : sql`${alias}.topic = ${topic}`)
  const matching = sql`${meets(dialect, filter)}${unneeded ? sql` and not ${isNeeded(dialect)}` : nothing}`
  // mutants: equivalent condition:true, states that are undefined are not asked for
  const asked = meets(dialect, states ? { states } : {})
  const counted = recent
    ? sql`
        from (select t.topic, t.state, t.due, t.sequence, t.listed, t.attempt,
                     row_number() over (partition by t.topic, t.identifier order by t.sequence desc) as place
                from ${dialect.tables.task} t
               where ${of(sql`t`)}${matching}) t
       where t.place = 1${asked}`
    : sql`
        from ${dialect.tables.task} t
       where ${of(sql`t`)}${matching}${asked}`
  const rows = yield sql`
    select p.topic, c.state, c.count, c.bound
      from ${dialect.tables.topic} p
      left join (select s.topic, s.state, count(*) as count, max(s.sequence) as bound
                   from (select t.topic, ${filterStateNumber(dialect)} as state, t.sequence ${counted}) s
                  group by s.topic, s.state) c on c.topic = p.topic
     ${topic === undefined ? nothing : sql`where p.topic = ${topic}`}
     order by p.topic, c.state`
  if (topic !== undefined && rows.length === 0) throw yield* topicUnknown(dialect, topic)
  const counts = new Map<string, Map<FilterState, TaskCount>>()
  for (const row of rows) {
    const name = String(row['topic'])
    const inTopic = counts.get(name) ?? new Map<FilterState, TaskCount>()
    counts.set(name, inTopic)
    if (row['state'] !== null)
      inTopic.set(toFilterState(row['state']), { count: toNumber(row['count']), bound: toNumber(row['bound']) })
  }
  return counts
}
