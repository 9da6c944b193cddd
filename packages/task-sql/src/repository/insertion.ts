import type { Insertion } from '@taskstream/task-api'
import { raw, sql } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import type { Context } from './context.ts'
import { noteDeleted, noteTurns, setStage } from './turns.ts'

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
  const { task } = dialect.tables
  const older = sql`
    with older (older_topic, older_sequence) as (
      select t.topic, t.sequence
        from ${task} t
       where t.topic = ${topic}
         and t.stage is not null
         and ${dialect.among(raw('t.identifier'), [...new Set(identifiers)])}
         and t.sequence < ${first}
         and t.state between ${raw(statesOf[insertion])}
       ${dialect.lock('t', 'skip')})`
  const rows =
    insertion === 'delete'
      ? yield sql`
          ${older}
          delete from ${task} as t
           where t.topic = ${topic} and t.sequence in (select older_sequence from older)
          returning identifier, stage`
      : yield sql`
          ${older}
          update ${task} as t
             set state = 8,
                 descent = case when t.state > t.descent then t.state else t.descent end,
                 listed = ${dialect.false},
                 due = null,
                 ${setStage('ended')}
            from older
           where ${dialect.at(raw('older.older_topic'), raw('older.older_sequence'))}
          returning identifier, stage`
  yield* (insertion === 'delete' ? noteDeleted : noteTurns)(context, topic, rows)
  const counts = new Map<string, number>()
  for (const row of rows) {
    const identifier = String(row['identifier'])
    counts.set(identifier, (counts.get(identifier) ?? 0) + 1)
  }
  return counts
}
