import type { Completion, HeldTask } from '@taskstream/task-api'
import { states } from '../core/states.ts'
import { sql } from '../core/statement.ts'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { checkHeld, ofHeld, enqueueRechecksOf, split } from './held.ts'
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
  const sequences = yield* ofHeld(context, topic, asked, (request) => {
    // Of a task that a range holds the try is not written yet, and the attempt is: so that nobody has it a second time.
    const set = request.ranged
      ? sql`listed = ${dialect.expr.true}, attempt = t.attempt + 1, ${setReadyClass()}`
      : sql`state = ${states.ready}, listed = ${dialect.expr.true}, owner = null, started = null, tries = t.tries - 1, ${setReadyClass()}`
    return dialect.writes.changeHeld(request, () => set)
  })
  const { found, lost } = split(asked, sequences)
  yield* enqueueRechecksOf(context, topic, found)
  return { completed: [...locked.held, ...found], lost: [...locked.lost, ...lost] }
}
