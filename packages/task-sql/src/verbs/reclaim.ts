import { checkTopic, invalid, isTask, listOf, TaskError, taskLimits } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { states } from '../core/states.ts'
import { raw, sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { toNumber } from '../core/task-row.ts'
import { enqueueRechecks, setReadyClass } from './recheck.ts'

export function* reclaim(context: Context, topic: string, known: Iterable<HeldTask>): Verb<number> {
  const { dialect, owner } = context
  checkTopic(topic)
  const tasks = listOf('tasks', known)
  // A task that is not understood would be taken from whoever works on it.
  for (const task of tasks) if (!isTask(task)) throw invalid('task', task, 'must be one that poll returned')
  const kept = new Set(tasks.map(({ sequence }) => sequence))
  const isOwn = (holder: Statement): Statement => sql`${holder} = ${owner}`
  // Ranges hold tasks of a poll whose answer was lost.
  if (dialect.ranges) yield* dialect.ranges.spill(isOwn, taskLimits.batchSize, { topic, kept })
  const held = [
    ...(yield dialect.claims.claimedBy(isOwn, taskLimits.batchSize, 'read')),
    ...(dialect.ranges ? yield dialect.ranges.heldBy(isOwn, taskLimits.batchSize) : []),
  ]
  const lost = held.flatMap((row) => {
    const sequence = toNumber(row['sequence'])
    return row['topic'] === topic && !kept.has(sequence) ? [sequence] : []
  })
  // mutants: equivalent condition:false, a change of no rows changes nothing
  if (lost.length === 0) return 0
  const rows = yield* dialect.writes.change({
    topic,
    sequences: lost,
    which: sql`t.state = ${states.active} and t.owner = ${owner}`,
    locked: 'skip',
    set: sql`state = ${states.ready}, listed = ${dialect.expr.true}, owner = null, started = null, tries = t.tries - 1, ${setReadyClass()}`,
    returning: raw('sequence, identifier, stage'),
  })
  // A count of none would say that this owner holds nothing unknowingly, and whoever asked would not ask again.
  if (rows.length === 0)
    throw new TaskError(
      'DATABASE_BUSY',
      `Others have locked what is to be reclaimed of topic "${topic}" (${lost.length}, the first is ${lost[0]}): try again a little later`,
      { shortOf: 'lock', topic, sequence: lost[0] },
    )
  yield* enqueueRechecks(context, topic, rows)
  return rows.length
}
