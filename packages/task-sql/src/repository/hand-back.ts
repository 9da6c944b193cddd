import type { Completion, HeldTask } from '@taskstream/task-api'
import { sql } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import type { Context } from './context.ts'
import { checkHeld, heldRows, noteTurnsOf, split } from './held.ts'
import { hold } from './hold.ts'
import { isLocked } from './lease.ts'
import { setStage } from './turns.ts'

export function* handBack(context: Context, topic: string, tasks: Iterable<HeldTask>): Verb<Completion> {
  const { dialect } = context
  const given = checkHeld(topic, tasks)
  // Of what is only locked nothing was written: the end of the transaction hands it back.
  const locked = yield* hold(context, topic, given.filter(isLocked))
  const asked = given.filter((task) => !isLocked(task))
  const [held] = heldRows(context, topic, asked)
  if (!held) return { completed: locked.held, lost: locked.lost }
  const { rows } = held
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
  return { completed: [...locked.held, ...found], lost: [...locked.lost, ...lost] }
}
