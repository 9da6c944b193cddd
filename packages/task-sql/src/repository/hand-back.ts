import type { Completion, HeldTask } from '@taskstream/task-api'
import { sql } from '../statement.ts'
import type { Verb } from '../transaction.ts'
import type { Context } from './context.ts'
import { checkHeld, fence, heldRows, split } from './held.ts'

export function* handBack({ dialect, owner }: Context, topic: string, tasks: Iterable<HeldTask>): Verb<Completion> {
  const asked = checkHeld(topic, tasks)
  if (asked.length === 0) return { completed: [], lost: [] }
  const update = sql`
    update ${dialect.tables.task} as t
       set state = 1,
           listed = ${dialect.true},
           owner = null,
           started = null,
           tries = t.tries - 1
      from ${heldRows(dialect, asked)}
     where ${fence(dialect, topic, owner)}
    returning sequence`
  const sequences = yield* dialect.affected(
    update,
    asked.map(({ sequence }) => sequence),
  )
  const { found, lost } = split(asked, sequences)
  return { completed: found, lost }
}
