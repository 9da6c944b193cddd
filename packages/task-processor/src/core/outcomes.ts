/** What becomes of tasks by decisions, where the decision alone does not say it: a task that has no tries left is not retried. */
import type { DecisionOutcome, HeldTask, TaskDecision } from '@taskstream/task-api'

/** How many tasks of a completion have each outcome. */
export type Outcomes = Readonly<Record<DecisionOutcome, number>>

/**
 * What a decision makes of a task. Whatever a retry policy says, the database fails a task that has used up its `maxTries`.
 *
 * @example
 * outcomeOf({ tries: 3, maxTries: 3 }, TaskDecision.retry({ afterMs: 5_000 }, error)) // 'failure'
 */
export function outcomeOf({ tries, maxTries = Infinity }: Tried, { outcome }: TaskDecision): DecisionOutcome {
  return outcome === 'retry' && tries >= maxTries ? 'failure' : outcome
}

type Tried = Pick<HeldTask, 'tries' | 'maxTries'>

/** Counts what has become of tasks that were completed. */
export function countOutcomes(completed: readonly HeldTask[], decisions: ReadonlyMap<HeldTask, TaskDecision>): Outcomes {
  const counts = { success: 0, filter: 0, suspension: 0, failure: 0, retry: 0, snooze: 0 }
  for (const task of completed) {
    const decision = decisions.get(task)
    if (decision) counts[outcomeOf(task, decision)]++
  }
  return counts
}
