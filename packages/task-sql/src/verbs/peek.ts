/** Looks at several topics at once, for nodes that sleep on them. */
import { checkTopic, invalid } from '@taskstream/task-api'
import type { PeekedTopic } from '@taskstream/task-api'
import type { Dialect, Glimpse } from '../core/dialect.ts'
import { join, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import { toNumber } from '../core/task-row.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { waitingColumns, waitingOf } from './waiting.ts'

/** How many topics a statement is about, a power of two. Each may be a part of its text, and servers take a limited number of parts. */
// mutants: equivalent number, one more or less is as good
const portion = 128

const mostTopics = 10_000

export function* peek({ dialect, now }: Context, topics: readonly string[]): Verb<ReadonlyMap<string, PeekedTopic>> {
  if (!Array.isArray(topics) || topics.length > mostTopics)
    throw invalid('topics', topics, `must be an array of at most ${mostTopics} topics`)
  for (const topic of topics) checkTopic(topic)
  const clock = now()
  const found = new Map<string, PeekedTopic>()
  const asked = [...new Set(topics)]
  for (let from = 0; from < asked.length; from += portion) {
    const glimpses = dialect.claims.glimpses(asked.slice(from, from + portion))
    const rows = yield join(
      padded(glimpses).map((glimpse) => glimpseStatement(dialect, glimpse, clock)),
      ' union all ',
    )
    for (const row of rows) {
      const { dueMs, blocked } = waitingOf(row)
      found.set(String(row['topic']), {
        ready: toNumber(row['ready']) > 0,
        blocked,
        ...(dueMs !== Infinity && { nextDueMs: dueMs }),
      })
    }
  }
  return found
}

/** Repeats the last one, so that there are few texts: drivers keep a plan for each. */
function padded(glimpses: readonly Glimpse[]): readonly Glimpse[] {
  if (glimpses.length === 1) return glimpses
  const last = glimpses.at(-1)!
  // mutants: equivalent number, more repetitions change nothing
  const length = 2 ** Math.ceil(Math.log2(glimpses.length))
  return Array.from({ length }, (_, index) => glimpses[index] ?? last)
}

/** Rechecks of identifiers wait for a poll, which deletes them, though no task may be ready. */
function glimpseStatement(dialect: Dialect, { from, topic, ready }: Glimpse, clock: number | null): Statement {
  return sql`
    select p.topic as topic,
           case when ${ready} > 0 or p.stage is not null and exists (select 1 from ${dialect.tables.turn} n where n.topic = ${topic})
                then 1 else 0 end as ready,
           ${waitingColumns(dialect, topic, clock)}
      from ${from}`
}
