import { checkDuration, checkInteger, checkNames, checkSelector, checkTopic, taskLimits, verbOptions } from '@taskstream/task-api'
import type { FilterState, PurgeOptions } from '@taskstream/task-api'
import { nothing, raw, sql } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { inRange, meets } from './filter.ts'
import { toNumber } from '../core/task-row.ts'
import { checkKnown } from './topics.ts'
import { isNeeded } from './dependencies.ts'
import { enqueueRechecksOfDeleted } from './recheck.ts'
import { removeTasks } from './removal.ts'

/** The default excludes tasks that are still to be done. It also excludes expired tasks, because somebody should look at those. */
const purged: readonly FilterState[] = ['failed', 'suspended', 'filtered', 'succeeded', 'recreated', 'redundant']

export function* purge(context: Context, topic: string, options: PurgeOptions = {}): Verb<number> {
  checkNames(verbOptions.purge, options)
  const { limit = 10_000, states = purged, olderThanMs, sequences, ...filter } = options
  const { dialect, now } = context
  checkTopic(topic)
  if (sequences !== undefined) checkSelector(sequences)
  checkInteger('limit', limit, 1, taskLimits.batchSize)
  if (olderThanMs !== undefined) checkDuration('olderThanMs', olderThanMs)
  const matching = meets(dialect, { ...filter, states })
  const old =
    olderThanMs === undefined
      ? nothing
      : sql` and coalesce(t.completed, t.created) <= ${dialect.expr.plusMs(dialect.expr.now(now()), sql`${-olderThanMs}`)}`
  const which = sql`1 = 1${matching}${old} and not ${isNeeded(dialect)}`
  const asked = sequences && [...new Set(sequences)].toSorted((left, right) => left - right).slice(0, limit)
  if (dialect.ranges && states.some((state) => state === 'ready' || state === 'active')) yield* dialect.ranges.lockFresh(topic)
  const found = yield* dialect.locks.tasks(
    asked
      ? { topic, sequences: asked, which, locked: 'skip' }
      : {
          // mutants: equivalent property, `read` says the topic
          topic,
          // mutants: equivalent property, the filter asks for the same range, which an index then finds
          read: { from: dialect.paths.inOrder, topic: inRange(dialect, topic, filter.from, filter.to) },
          which,
          // mutants: equivalent property string `orderBy: dialect.paths.orderBy('fifo')`, without it the order is the same
          first: { orderBy: dialect.paths.orderBy('fifo'), limit },
          locked: 'skip',
        },
    raw('t.sequence'),
  )
  if (found.length === 0) {
    yield* checkKnown(context, topic)
    return 0
  }
  const rows = yield* removeTasks(
    dialect,
    topic,
    found.map(({ sequence }) => toNumber(sequence)),
  )
  yield* enqueueRechecksOfDeleted(context, topic, rows)
  return rows.length
}

export function* purgeAll(context: Context, topic: string): Verb<number> {
  const { dialect } = context
  checkTopic(topic)
  const { turn, result, attempt, dependency } = dialect.tables
  yield dialect.writes.removeOf(turn, topic)
  const [row] = yield sql`select count(*) as count from ${dialect.tables.task} where topic = ${topic}`
  const count = toNumber(row!['count'])
  if (count === 0) yield* checkKnown(context, topic)
  else yield dialect.writes.removeOf(dialect.tables.task, topic)
  // After the tasks, which a completion locks before it writes an attempt: none is left behind, and the two cannot deadlock.
  for (const table of [result, attempt, dependency]) yield dialect.writes.removeOf(table, topic)
  return count
}
