/** What the topic is like that a question is about. */
import type { Diagnosis } from '@taskstream/task-api'
import { checkTopic } from '@taskstream/task-api'
import { raw, sql } from '../core/statement.ts'
import { present, toNumber } from '../core/task-row.ts'
import { toTopicMode } from '../core/topic-mode.ts'
import type { TopicMode } from '../core/topic-mode.ts'
import type { Verb } from '../core/verb.ts'
import { topicUnknown } from '../core/verb-context.ts'
import type { Context } from '../core/verb-context.ts'

/** A topic, as a question about one of its tasks sees it. */
export interface Place {
  readonly topic: string
  readonly mode: TopicMode
  readonly isKeyed: boolean
  readonly nowMs: number
  readonly paused?: NonNullable<Diagnosis['paused']>
}

/** @throws TaskError TOPIC_UNKNOWN */
export function* lookAt({ dialect, now }: Context, topic: string): Verb<Place> {
  checkTopic(topic)
  const { expr, tables } = dialect
  const [row] = yield sql`
    select p.ordering, p.condition, p.stage, ${expr.epochMs(expr.now(now()))} as now,
           case when a.active = ${expr.false} then 1 else 0 end as paused,
           ${expr.epochMs(raw('a.changed'))} as changed, a.actor, a.note
      from ${tables.topic} p
      left join ${tables.activation} a on a.topic = p.topic
     where p.topic = ${topic}`
  if (!row) throw yield* topicUnknown(dialect, topic)
  return {
    topic,
    mode: toTopicMode(row['ordering'], row['condition']),
    isKeyed: row['stage'] !== null,
    nowMs: toNumber(row['now']),
    ...(toNumber(row['paused']) === 1 && {
      paused: {
        since: new Date(toNumber(row['changed'])),
        ...present('actor', row['actor'], String),
        ...present('note', row['note'], String),
      },
    }),
  }
}
