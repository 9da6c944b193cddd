import { checkInteger } from '@taskstream/task-api'
import type { OverviewOptions, TopicOverview } from '@taskstream/task-api'
import { raw, sql } from '../statement.ts'
import type { Statement } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import type { Context } from './context.ts'
import { toPolling } from './polling.ts'
import { toNumber } from './row.ts'

export function* overview({ dialect, now }: Context, options: OverviewOptions = {}): Verb<TopicOverview[]> {
  const { limit = 1_000 } = options
  checkInteger('limit', limit, 1, 1_000_000)
  const { task, topic: topics } = dialect.tables
  const atMost = (rows: Statement): Statement => sql`(select count(*) from (${rows} limit ${limit}) found)`
  const rows = yield sql`
    select p.topic, p.ordering, p.condition, p.stage,
           ${atMost(dialect.openRows('ready', limit))} as ready,
           ${atMost(dialect.openRows('active', limit))} as active,
           ${atMost(sql`select 1 from ${task} t where t.topic = p.topic and t.due is not null and t.state = 4`)} as waiting,
           (select ${dialect.epochMs(dialect.now(now()))} - ${dialect.epochMs(raw('min(found.created)'))}
              from (${dialect.oldestReady}) found) as oldest
      from ${topics} p
     order by p.topic`
  return rows.map((row) => ({
    topic: String(row['topic']),
    ...toPolling(row['ordering'], row['condition']),
    keyed: row['stage'] !== null,
    ready: toNumber(row['ready']),
    active: toNumber(row['active']),
    waiting: toNumber(row['waiting']),
    ...(row['oldest'] === null ? {} : { oldestReadyMs: Math.max(0, toNumber(row['oldest'])) }),
  }))
}
