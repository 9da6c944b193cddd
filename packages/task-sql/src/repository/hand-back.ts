import type { Completion, HeldTask } from '@taskstream/task-api'
import { sql } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import type { Context } from './context.ts'
import { checkHeld, noteTurnsOf, split } from './held.ts'
import { setStage } from './turns.ts'

export function* handBack(context: Context, topic: string, tasks: Iterable<HeldTask>): Verb<Completion> {
  const { dialect, owner } = context
  const asked = checkHeld(topic, tasks)
  if (asked.length === 0) return { completed: [], lost: [] }
  const rows = dialect.held(topic, owner, asked, [])
  const update = sql`
    update ${dialect.tables.task} as t
       set state = 1,
           listed = ${dialect.true},
           owner = null,
           started = null,
           tries = t.tries - 1,
           ${setStage('open')}
      ${rows.updateFrom}
     where ${rows.where}
    returning sequence`
  const sequences = yield* dialect.affected(
    update,
    asked.map(({ sequence }) => sequence),
  )
  const { found, lost } = split(asked, sequences)
  yield* noteTurnsOf(context, topic, found)
  return { completed: found, lost }
}
