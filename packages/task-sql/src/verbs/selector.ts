import { checkSelector, checkTopic } from '@taskstream/task-api'
import type { TaskSelector } from '@taskstream/task-api'
import { stages } from '../core/states.ts'
import { sequencesOf } from '../core/task-row.ts'
import { sql } from '../core/statement.ts'
import type { Statement } from '../core/statement.ts'
import type { Row, Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { checkKeyed, checkKnown } from './topics.ts'

/**
 * Locks the rows of the tasks that a selector names and that meet a condition on rows `t`, which no ended row meets. It waits for rows
 * that others have locked. Rows are found without locks first, and then locked in the order of their sequences, as a completion locks
 * them: so the two cannot deadlock.
 *
 * @param verb for the text of errors
 * @returns these columns of each row, by sequence
 * @throws TaskError ARGUMENT_INVALID, TOPIC_UNKNOWN, TOPIC_NOT_KEYED
 */
export function* lockNamed(
  context: Context,
  verb: string,
  topic: string,
  selector: TaskSelector,
  which: Statement,
  columns: Statement,
): Verb<readonly Row[]> {
  checkTopic(topic)
  checkSelector(selector)
  if (context.dialect.ranges) yield* context.dialect.ranges.lockFresh(topic)
  const sequences = yield* find(context, verb, topic, selector, which)
  const rows =
    // mutants: equivalent condition:false, of no sequences none is there
    sequences.length === 0 ? [] : yield* context.dialect.locks.tasks({ topic, sequences, which, locked: 'wait' }, columns)
  // mutants: equivalent condition:true, a topic with tasks is known
  if (rows.length === 0) yield* checkKnown(context, topic)
  return rows
}

/** Under a condition, the index then passes over what an identifier has done before. */
const mayBeUnended = sql`t.stage in (${stages.active}, ${stages.open}, ${stages.failed}, ${stages.suspended}, ${stages.high}, ${stages.low}, ${stages.aside}, ${stages.unstaged})`

/** The sequences of the tasks that a selector names, found without locks. */
export function* find(
  context: Context,
  verb: string,
  topic: string,
  selector: TaskSelector,
  which: Statement,
): Verb<readonly number[]> {
  const { dialect } = context
  if (typeof selector === 'number') return [selector]
  if ('length' in selector) return [...new Set(selector)].toSorted((left, right) => left - right)
  if (selector.externalId !== undefined) {
    return sequencesOf(
      yield sql`select t.sequence from ${dialect.tables.task} t where t.topic = ${topic} and t.external_id = ${selector.externalId}`,
    )
  }
  yield* checkKeyed(context, topic, `${verb} by identifier`)
  // The condition is looked at again when the rows are locked.
  return sequencesOf(
    yield sql`
      select t.sequence from ${dialect.paths.byIdentifiers(topic, [selector.identifier!])} and ${mayBeUnended} and ${which}`,
  )
}
