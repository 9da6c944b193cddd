import type { Completion, HeldTask } from '@taskstream/task-api'
import { states } from '../core/states.ts'
import { sql } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { checkHeld, heldRequests, enqueueRechecksOf, split } from './held.ts'
import { hold } from './hold.ts'
import { isHeld } from '../core/lease.ts'
import { setReadyClass } from './recheck.ts'

export function* handBack(context: Context, topic: string, tasks: Iterable<HeldTask>): Verb<Completion> {
  const { dialect } = context
  const given = checkHeld(topic, tasks)
  // For tasks that are only locked nothing was written yet: they become free when the transaction ends.
  const locked = yield* hold(
    context,
    topic,
    given.filter((task) => isHeld(task, 'locked')),
  )
  const asked = given.filter((task) => !isHeld(task, 'locked'))
  const [request] = heldRequests(context, topic, asked)
  if (!request) return { completed: locked.held, lost: locked.lost }
  const sequences = yield* dialect.writes.changeHeld(
    request,
    () =>
      sql`state = ${states.ready}, listed = ${dialect.expr.true}, owner = null, started = null, tries = t.tries - 1, ${setReadyClass()}`,
  )
  const { found, lost } = split(asked, sequences)
  yield* enqueueRechecksOf(context, topic, found)
  return { completed: [...locked.held, ...found], lost: [...locked.lost, ...lost] }
}
