import type { HeldTask, Holding } from '@taskstream/task-api'
import { sql } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import type { Context } from './context.ts'
import { checkHeld, heldRows, split } from './held.ts'
import { toNumber } from './row.ts'

export function* hold(context: Context, topic: string, tasks: Iterable<HeldTask>): Verb<Holding> {
  const asked = checkHeld(topic, tasks)
  if (asked.length === 0) return { held: [], lost: [] }
  const { dialect } = context
  const sequences = new Set<number>()
  for (const { rows } of heldRows(context, topic, asked)) {
    // Waits for whoever holds a row's lock: it may be taking the task from us, and then it is not held.
    const held = yield sql`
      select t.sequence
        from ${dialect.tables.task} t ${rows.selectFrom}
       where ${rows.where}
       order by t.sequence
       ${dialect.lock('t', 'wait')}`
    for (const { sequence } of held) sequences.add(toNumber(sequence))
  }
  const { found, lost } = split(asked, sequences)
  return { held: found, lost }
}
