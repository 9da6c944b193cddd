/** What a topic keeps of its tasks, as pushes assume it. */
import type { TaskRecord } from '@taskstream/task-api'
import { sql } from '../core/statement.ts'
import { toTopicMode } from '../core/topic-mode.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'

/** As polls and pushes of this process have seen it. Each push checks that it is still right. */
export function recordOf({ modes }: Pick<Context, 'modes'>, topic: string): TaskRecord {
  return modes.get(topic)?.record ?? 'states'
}

/**
 * For a push that has inserted nothing.
 *
 * @param assumed what that push has assumed; another push may have learned better meanwhile
 * @returns whether the topic keeps something else; the next push assumes that
 */
export function* isOtherRecord({ dialect, modes }: Context, topic: string, assumed: TaskRecord): Verb<boolean> {
  if (!dialect.ranges) return false
  const [row] = yield sql`select p.ordering, p.condition from ${dialect.tables.topic} p where p.topic = ${topic}`
  if (!row) return false
  const mode = toTopicMode(row['ordering'], row['condition'])
  modes.set(topic, mode)
  return mode.record !== assumed
}
