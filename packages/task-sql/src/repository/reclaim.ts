import { checkInteger, checkTopic, taskLimits } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { raw, sql } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import type { Context } from './context.ts'
import { toNumber } from './row.ts'
import { noteTurns, setStage } from './turns.ts'

export function* reclaim(context: Context, topic: string, known: Iterable<HeldTask>): Verb<number> {
  const { dialect, owner } = context
  checkTopic(topic)
  const sequences = [...known].map(({ sequence }) => sequence)
  checkInteger('the number of tasks', sequences.length, 0, taskLimits.batchSize)
  const kept = new Set(sequences)
  const held = yield dialect.heldBy((holder) => sql`${holder} = ${owner}`, taskLimits.batchSize)
  const lost = held.flatMap((row) => {
    const sequence = toNumber(row['sequence'])
    return row['topic'] === topic && !kept.has(sequence) ? [sequence] : []
  })
  if (lost.length === 0) return 0
  const rows = yield sql`
    update ${dialect.tables.task} as t
       set state = 1, listed = ${dialect.true}, owner = null, started = null, tries = t.tries - 1, ${setStage('open')}
     where t.topic = ${topic} and ${dialect.among(raw('t.sequence'), lost)} and t.state = 0 and t.owner = ${owner}
    returning sequence, identifier, stage`
  yield* noteTurns(context, topic, rows)
  return rows.length
}
