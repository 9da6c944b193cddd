import type { Insertion } from '@taskstream/task-api'
import { raw, sql } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import type { Context } from './context.ts'
import { noteDeleted, noteTurns, removeRows, setStage } from './turns.ts'

/** The states of older rows that each insertion is about (requirement 04 §17). Active rows never are. */
const statesOf = { supersede: '1 and 1', replace: '1 and 6', delete: '1 and 8' } as const

/**
 * Does to the older tasks of these identifiers what the insertion says, passing over what others are working on.
 * @returns how many there were, by identifier
 */
export function* removeOlder(
  context: Context,
  topic: string,
  insertion: Exclude<Insertion, 'append'>,
  identifiers: readonly string[],
  first: number,
): Verb<ReadonlyMap<string, number>> {
  const { dialect } = context
  // The sum keeps the planner from reading all that is older instead of looking up each identifier.
  const which = sql`t.sequence + 0 < ${first} and t.state between ${raw(statesOf[insertion])}`
  const sequences = yield* dialect.lockIdentified(topic, [...new Set(identifiers)], which, 'skip')
  if (sequences.length === 0) return new Map()
  const rows =
    insertion === 'delete'
      ? yield* removeRows(dialect, topic, sequences)
      : yield* dialect.change({
          topic,
          sequences,
          locked: 'wait',
          set: sql`
            descent = case when t.state > t.descent then t.state else t.descent end,
            state = 8,
            listed = ${dialect.false},
            due = null,
            ${setStage('ended')}`,
          returning: raw('identifier, stage'),
        })
  yield* (insertion === 'delete' ? noteDeleted : noteTurns)(context, topic, rows)
  const counts = new Map<string, number>()
  for (const row of rows) {
    const identifier = String(row['identifier'])
    counts.set(identifier, (counts.get(identifier) ?? 0) + 1)
  }
  return counts
}
