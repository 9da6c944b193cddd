import type { Execution, Outcome } from '@taskstream/task-api'

/** Goes on with the outcome of a verb, whether it is a promise or a value. */
export function after<E extends Execution, Result, Changed>(
  outcome: Outcome<E, Result>,
  change: (result: Result) => Changed,
): Outcome<E, Changed> {
  return (outcome instanceof Promise ? outcome.then(change) : change(outcome as Result)) as Outcome<E, Changed>
}
