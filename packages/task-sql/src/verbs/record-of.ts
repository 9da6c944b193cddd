/** What a topic keeps of its tasks, as pushes assume it. */
import type { TaskRecord } from '@taskstream/task-api'
import { join, sql } from '../core/statement.ts'
import { toTopicMode } from '../core/topic-mode.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'

/** As polls and pushes of this process have seen it. Each push checks that it is still right. */
export function recordOf({ modes }: Pick<Context, 'modes'>, topic: string): TaskRecord {
  return modes.get(topic)?.record ?? 'states'
}

/** Looks up what these topics keep, of those that no poll or push of this process has seen. */
export function* learnRecords({ dialect, modes }: Context, topics: readonly string[]): Verb<void> {
  const unseen = dialect.ranges ? topics.filter((topic) => !modes.has(topic)) : []
  if (unseen.length === 0) return
  const names = join(
    unseen.map((topic) => sql`${topic}`),
    ', ',
  )
  const rows = yield sql`select p.topic, p.ordering, p.condition from ${dialect.tables.topic} p where p.topic in (${names})`
  for (const { topic, ordering, condition } of rows) modes.set(String(topic), toTopicMode(ordering, condition))
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
