import type { HeldTask, Holding } from '@taskstream/task-api'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { checkHeld, ofHeld, split } from './held.ts'

export function* hold(context: Context, topic: string, tasks: Iterable<HeldTask>): Verb<Holding> {
  const asked = checkHeld(topic, tasks)
  // mutants: equivalent condition:false, without tasks no statement is made
  if (asked.length === 0) return { held: [], lost: [] }
  const { dialect } = context
  // Waits for transactions that have locked these rows: one of them may be taking a task away from this owner.
  const sequences = yield* ofHeld(context, topic, asked, (request) => dialect.locks.held(request))
  const { found, lost } = split(asked, sequences)
  return { held: found, lost }
}
