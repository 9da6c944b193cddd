import { TaskError } from '@taskstream/task-api'
import type { Repair } from '@taskstream/task-api'
import { toNumber } from '../../core/task-row.ts'
import type { OracleTables } from './schema.ts'
import { sql } from '../../core/statement.ts'
import type { Statement } from '../../core/statement.ts'
import type { Verb } from '../../core/verb.ts'

/** How many numbers one statement draws at most, and one repair altogether. */
const portion = 100_000
const most = 10_000_000

/**
 * Draws numbers of the sequence until it is ahead of the tasks. A definition could move the sequence, but would commit the caller's
 * transaction. Rechecks need no repair: their table generates the numbers, and takes none from elsewhere.
 *
 * @throws TaskError SEQUENCE_BEHIND if the sequence is more than 10 million behind
 */
export function* advanceOracleSequence({ task, topic, sequence }: OracleTables): Verb<Repair['sequence']> {
  const [row] = yield sql`
    select max(l.last) as last
      from (select (select max(t.sequence) from ${task} t where t.topic = p.topic) as last from ${topic} p) l`
  const last = toNumber(row?.['last'] ?? 0)
  if (last === 0) return 'ahead'
  const first = yield* draw(sequence, 1)
  if (first > last) return 'ahead'
  if (last - first > most) throw tooFar(sequence, last)
  for (let drawn = first; drawn < last;) drawn = yield* draw(sequence, Math.min(portion, last - drawn))
  return 'moved'
}

/** Draws `count` numbers. @returns the largest */
function* draw(sequence: Statement, count: number): Verb<number> {
  const rows = yield sql`select ${sequence}.nextval as sequence from dual connect by level <= ${count}`
  return rows.reduce((largest, row) => Math.max(largest, toNumber(row['sequence'])), 0)
}

function tooFar(sequence: Statement, last: number): TaskError {
  const name = sequence.texts.join('')
  return new TaskError(
    'SEQUENCE_BEHIND',
    `The sequence is more than ${most} behind the last task: run alter sequence ${name} restart start with ${last + 1}`,
    { last },
  )
}
