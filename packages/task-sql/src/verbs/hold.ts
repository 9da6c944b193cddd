import type { HeldTask, Holding } from '@taskstream/task-api'
import type { Verb } from '../core/verb.ts'
import type { Context } from '../core/verb-context.ts'
import { checkHeld, heldRequests, split } from './held.ts'

export function* hold(context: Context, topic: string, tasks: Iterable<HeldTask>): Verb<Holding> {
  const asked = checkHeld(topic, tasks)
  // mutants: equivalent condition:false, without tasks no statement is made
  if (asked.length === 0) return { held: [], lost: [] }
  const { dialect } = context
  const sequences = new Set<number>()
  for (const request of heldRequests(context, topic, asked)) {
    // Waits for transactions that have locked these rows: one of them may be taking a task away from this owner.
    for (const sequence of yield* dialect.locks.held(request)) sequences.add(sequence)
  }
  const { found, lost } = split(asked, sequences)
  return { held: found, lost }
}
