import { checkInteger, checkTopic, taskLimits } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import { raw, sql } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import type { Context } from './context.ts'
import { noteTurns, setStage } from './turns.ts'

export function* reclaim(context: Context, topic: string, known: Iterable<HeldTask>): Verb<number> {
  const { dialect, owner } = context
  checkTopic(topic)
  const sequences = [...known].map(({ sequence }) => sequence)
  checkInteger('the number of tasks', sequences.length, 0, taskLimits.batchSize)
  const rows = yield sql`
    with own (own_topic, own_sequence) as (${dialect.heldBy((holder) => sql`${holder} = ${owner}`, taskLimits.batchSize)})
    update ${dialect.tables.task} as t
       set state = 1, listed = ${dialect.true}, owner = null, started = null, tries = t.tries - 1, ${setStage('open')}
      from own
     where ${dialect.at(raw('own.own_topic'), raw('own.own_sequence'))}
       and own.own_topic = ${topic}
       and +t.state = 0
       and own.own_sequence not in (
           select r.held_sequence from ${dialect.rows([{ name: 'held_sequence', type: 'integer', values: sequences }])})
    returning sequence, identifier, stage`
  yield* noteTurns(context, topic, rows)
  return rows.length
}
