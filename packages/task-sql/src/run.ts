import type { Execution, Outcome } from '@taskstream/task-api'
import type { SqlAdapter, Verb } from './transaction.ts'

/** Drives a verb's statements through a transaction: at once on a synchronous adapter, awaiting each on an asynchronous one. */
export function run<Transaction, E extends Execution, Result>(
  adapter: SqlAdapter<Transaction, E>,
  transaction: Transaction,
  verb: Verb<Result>,
  translate: (error: unknown) => unknown,
): Outcome<E, Result> {
  const outcome =
    adapter.execution === 'sync'
      ? runSync(adapter, transaction, verb, translate)
      : runAsync(adapter, transaction, verb, translate)
  return outcome as Outcome<E, Result>
}

function runSync<Transaction, Result>(
  adapter: SqlAdapter<Transaction>,
  transaction: Transaction,
  verb: Verb<Result>,
  translate: (error: unknown) => unknown,
): Result {
  let step = verb.next()
  while (!step.done) {
    let rows
    try {
      rows = (adapter as SqlAdapter<Transaction, 'sync'>).execute(transaction, step.value)
    } catch (error) {
      throw translate(error)
    }
    step = verb.next(rows)
  }
  return step.value
}

async function runAsync<Transaction, Result>(
  adapter: SqlAdapter<Transaction>,
  transaction: Transaction,
  verb: Verb<Result>,
  translate: (error: unknown) => unknown,
): Promise<Result> {
  let step = verb.next()
  while (!step.done) {
    let rows
    try {
      rows = await adapter.execute(transaction, step.value)
    } catch (error) {
      throw translate(error)
    }
    step = verb.next(rows)
  }
  return step.value
}
