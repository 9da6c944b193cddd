import { checkTopic } from '@taskstream/task-api'
import type { CountOptions, TaskCount, TaskState } from '@taskstream/task-api'
import { nothing, sql } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import type { Context } from './context.ts'
import { toNumber, toState } from './row.ts'

export function* count(
  { dialect }: Context,
  options: CountOptions = {},
): Verb<ReadonlyMap<string, ReadonlyMap<TaskState, TaskCount>>> {
  const { topic } = options
  if (topic !== undefined) checkTopic(topic)
  const rows = yield sql`
    select p.topic, c.state, c.count, c.bound
      from ${dialect.tables.topic} p
      left join (select t.topic, t.state, count(*) as count, max(t.sequence) as bound
                   from ${dialect.tables.task} t
                  ${topic === undefined ? nothing : sql`where t.topic = ${topic}`}
                  group by t.topic, t.state) c on c.topic = p.topic
     ${topic === undefined ? nothing : sql`where p.topic = ${topic}`}
     order by p.topic, c.state`
  const counts = new Map<string, Map<TaskState, TaskCount>>()
  for (const row of rows) {
    const name = String(row['topic'])
    const states = counts.get(name) ?? new Map<TaskState, TaskCount>()
    counts.set(name, states)
    if (row['state'] !== null) states.set(toState(row['state']), { count: toNumber(row['count']), bound: toNumber(row['bound']) })
  }
  return counts
}
