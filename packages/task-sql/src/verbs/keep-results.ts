import type { HeldTask, TaskDecision } from '@taskstream/task-api'
import { sql } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { moveNeeds } from './needs-of-successors.ts'

/** Keeps what completed tasks return, and which tasks go on with their work. Most tasks return nothing, and pay for nothing. */
export function* keepResults(
  context: Context,
  topic: string,
  completed: readonly HeldTask[],
  decisions: ReadonlyMap<HeldTask, TaskDecision>,
): Verb<void> {
  const kept = completed.flatMap(({ sequence }, index) => {
    const { value, successor } = decisions.get(completed[index]!)!
    return value === undefined && successor === undefined ? [] : [{ sequence, value, successor }]
  })
  if (kept.length === 0) return
  const { dialect } = context
  yield* moveNeeds(
    context,
    topic,
    new Map(kept.flatMap(({ sequence, successor }) => (successor ? [[sequence, successor] as const] : []))),
  )
  yield sql`
    insert into ${dialect.tables.result} (topic, sequence, value, next_topic, next_sequence)
    select p.topic, r.completed, r.returned, r.next_topic, r.next_sequence
      from ${dialect.tables.topic} p, ${dialect.expr.rows([
        { name: 'completed', type: 'integer', values: kept.map(({ sequence }) => sequence) },
        // mutants: equivalent nullish:value, undefined is null in JSON
        { name: 'returned', type: 'text', values: kept.map(({ value }) => value ?? null) },
        // mutants: equivalent nullish:successor?.topic, undefined is null in JSON
        { name: 'next_topic', type: 'text', values: kept.map(({ successor }) => successor?.topic ?? null) },
        // mutants: equivalent nullish:successor?.sequence, undefined is null in JSON
        { name: 'next_sequence', type: 'integer', values: kept.map(({ successor }) => successor?.sequence ?? null) },
      ])}
     where p.topic = ${topic}`
}
