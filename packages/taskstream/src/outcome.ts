import type { Execution, Outcome } from '@taskstream/task-api'

/** Goes on with the outcome of a verb, whether it is a promise or a value. */
export function after<E extends Execution, Result, Changed>(
  outcome: Outcome<E, Result>,
  change: (result: Result) => Changed,
): Outcome<E, Changed> {
  return (outcome instanceof Promise ? outcome.then(change) : change(outcome as Result)) as Outcome<E, Changed>
}

/** Repeats a step until it has a result. A step that is no promise is repeated without one. */
export function firstOf<E extends Execution, Result>(step: () => Outcome<E, Result | undefined>): Outcome<E, Result> {
  for (;;) {
    const outcome = step()
    if (outcome instanceof Promise) return firstLater(outcome, step) as Outcome<E, Result>
    if (outcome !== undefined) return outcome as Outcome<E, Result>
  }
}

async function firstLater<Result>(begun: Promise<Result | undefined>, step: () => unknown): Promise<Result> {
  let result: unknown = await begun
  while (result === undefined) result = await step()
  return result as Result
}

/**
 * Has verbs of an asynchronous driver reject where they would throw: so a `catch` on what they return hears of every error, and `Promise.all` of every call.
 *
 * @param names methods whose first argument is a transaction
 * @param heard notes a call of a transaction's work, so that its error is not lost if nobody awaits it
 */
export function rejecting<Verbs extends object>(
  verbs: Verbs,
  names: readonly (keyof Verbs & string)[],
  heard: (transaction: unknown, outcome: Promise<never>) => Promise<never>,
): void {
  for (const name of names) {
    const verb = verbs[name] as (transaction: unknown, ...more: readonly unknown[]) => unknown
    const value = (transaction: unknown, ...more: readonly unknown[]): unknown => {
      try {
        return verb.call(verbs, transaction, ...more)
      } catch (error) {
        return heard(transaction, Promise.reject(error as Error))
      }
    }
    Object.defineProperty(verbs, name, { value, configurable: true, writable: true })
  }
}
