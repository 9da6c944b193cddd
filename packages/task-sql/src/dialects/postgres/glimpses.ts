import type { Claims, Glimpse } from '../../core/dialect.ts'
import type { RowColumn } from '../../core/requests.ts'
import { join, raw, sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import { drawn, historyOf, sessionsRun, thisRun } from './claim-statement.ts'
import { readyRows } from './overview.ts'
import type { PostgresTables } from './tables.ts'
import { frontierOf, keepsOutcomes, rangeStates } from './ranges/range-states.ts'
import { lastDrawn, recall } from './watermarks.ts'
import type { TopicWatermarks } from './watermarks.ts'

/**
 * How `peek` looks at topics. It reads fresh rows from the low watermark that the polls of this process have learned, as they do, and under the same
 * conditions: the history is the known one, and the sequence is not behind what was drawn. Otherwise it reads from the persisted one, which is always
 * right. Without the learned one a topic that has just been drained would have its ended rows read at each look.
 *
 * While polls still wait for a low watermark to rise, they are to poll: only they raise it.
 *
 * @param unnested makes rows of values
 */
export function postgresGlimpses(
  tables: PostgresTables,
  watermarks: ReadonlyMap<string, TopicWatermarks>,
  unnested: (columns: readonly RowColumn[]) => Statement,
): Claims['glimpses'] {
  const { topic: topicTable, partitioned } = tables
  const glimpse = (topic: Statement, known: Statement): Glimpse => ({
    from: sql`
      ${known}
      join ${topicTable} p on p.topic = r.topic,
      lateral (select case when ${keepsOutcomes} then ${frontierOf(tables, raw('p.topic'))}
                           when ${historyOf(tables, run)} = r.history and ${drawn(tables)} >= r.drawn
                           then greatest(p.floor, r.low) else p.floor end as floor) f`,
    topic,
    ready: isReady(tables, topic),
  })
  return (topics) => {
    const all = topics.map((topic) => ({ topic, known: recall(watermarks, topic) }))
    const rowsOf = (some: typeof all): Statement =>
      unnested([
        { name: 'topic', type: 'text', values: some.map(({ topic }) => topic) },
        { name: 'history', type: 'text', values: some.map(({ known }) => known.history) },
        { name: 'low', type: 'integer', values: some.map(({ known }) => known.low) },
        { name: 'drawn', type: 'integer', values: some.map(({ known }) => lastDrawn(known)) },
        { name: 'waits', type: 'integer', values: some.map(({ known }) => (known.pending ? 1 : 0)) },
      ])
    // Only a value finds the partition.
    return partitioned ? all.map((one) => glimpse(sql`${one.topic}`, rowsOf([one]))) : [glimpse(raw('p.topic'), rowsOf(all))]
  }
}

/** The server's run, as in the history. A session that has not polled yet computes it once. */
const run = sql`coalesce(nullif(${raw(sessionsRun)}, ''), pg_catalog.set_config('taskstream.run', ${thisRun}, false))`

/** The limits make the planner read an index in order, and stop at the first row. PostgreSQL does not run what the topic's row rules out. */
function isReady(tables: PostgresTables, topic: Statement): Statement {
  const { fresh, listed, open } = readyRows(tables, topic, raw('f.floor'))
  const found = [fresh, listed, open].map(
    (which) => sql`(select 1 from ${tables.task} t where ${which} order by t.topic, t.sequence limit 1) is not null`,
  )
  const isMissing = sql`${keepsOutcomes} and exists (select from ${tables.range} m where m.topic = p.topic and m.state = ${rangeStates.missing})`
  return sql`(r.waits = 1 or ${join(found, ' or ')} or ${isMissing})::int`
}
