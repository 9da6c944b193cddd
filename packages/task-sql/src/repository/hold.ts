import type { HeldTask, Holding } from '@taskstream/task-api'
import { sql } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import type { Context } from './context.ts'
import { checkHeld, split } from './held.ts'
import { toNumber } from './row.ts'

export function* hold({ dialect, owner }: Context, topic: string, tasks: Iterable<HeldTask>): Verb<Holding> {
  const asked = checkHeld(topic, tasks)
  if (asked.length === 0) return { held: [], lost: [] }
  const held = dialect.held(topic, owner, asked, [])
  // Waits for whoever holds a row's lock: it may be taking the task from us, and then it is not held.
  const rows = yield sql`
    select t.sequence
      from ${dialect.tables.task} t ${held.selectFrom}
     where ${held.where}
     order by t.sequence
     ${dialect.lock('t', 'wait')}`
  const { found, lost } = split(asked, new Set(rows.map((row) => toNumber(row['sequence']))))
  return { held: found, lost }
}
