import { checkInteger, checkNames, verbOptions } from '@taskstream/task-api'
import type { OverviewOptions, TopicOverview } from '@taskstream/task-api'
import { sql } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { toTopicMode } from '../core/topic-mode.ts'
import { toNumber } from '../core/task-row.ts'

export function* overview({ dialect, now }: Context, options: OverviewOptions = {}): Verb<TopicOverview[]> {
  checkNames(verbOptions.overview, options)
  const { limit = 1_000 } = options
  checkInteger('limit', limit, 1, 1_000_000)
  const rows = yield sql`
    select p.topic, p.ordering, p.condition, p.stage,
           ${dialect.claims.countOpen('ready', limit)} as ready,
           ${dialect.claims.countOpen('active', limit)} as active,
           ${dialect.claims.countOpen('delayed', limit)} as delayed_tasks,
           ${dialect.expr.epochMs(dialect.expr.now(now()))} - ${dialect.expr.epochMs(dialect.claims.oldestReady)} as oldest
      from ${dialect.tables.topic} p
     order by p.topic`
  return rows.map((row) => ({
    topic: String(row['topic']),
    ...toTopicMode(row['ordering'], row['condition']),
    keyed: row['stage'] !== null,
    ready: toNumber(row['ready']),
    active: toNumber(row['active']),
    delayed: toNumber(row['delayed_tasks']),
    ...(row['oldest'] === null ? {} : { oldestReadyMs: Math.max(0, toNumber(row['oldest'])) }),
  }))
}
