import { invalid } from '@taskstream/task-api'
import type { Execution, Outcome } from '@taskstream/task-api'
import type { Dialect } from './dialect.ts'
import type { Statement } from './statement.ts'
import { checkWork, inTurn } from './under-way.ts'
import type { SqlAdapter, Verb } from './verb.ts'

/** How a repository runs statements through its adapter. */
export interface Running extends Pick<Dialect, 'classify'> {
  /** The parameter `plan` of `SqlAdapter.execute` for this statement. */
  planOf(statement: Statement): string | undefined
}

/** Runs the statements of a verb in a transaction. On an asynchronous adapter each statement is awaited. */
export function runVerb<Transaction, E extends Execution, Result>(
  adapter: SqlAdapter<Transaction, E>,
  transaction: Transaction,
  verb: Verb<Result>,
  running: Running,
): Outcome<E, Result> {
  const outcome =
    adapter.execution === 'sync'
      ? runSync(adapter, transaction, verb, running)
      : isObject(transaction)
        ? inTurn(transaction, () => runAsync(adapter, transaction, verb, running))
        : runAsync(adapter, transaction, verb, running)
  return outcome as Outcome<E, Result>
}

function runSync<Transaction, Result>(
  adapter: SqlAdapter<Transaction>,
  transaction: Transaction,
  verb: Verb<Result>,
  running: Running,
): Result {
  checkTransaction(transaction)
  checkWork(transaction as object)
  let step = verb.next()
  while (!step.done) {
    let rows
    try {
      rows = (adapter as SqlAdapter<Transaction, 'sync'>).execute(transaction, step.value, running.planOf(step.value))
    } catch (error) {
      throw running.classify(error) ?? error
    }
    step = verb.next(rows)
  }
  return step.value
}

async function runAsync<Transaction, Result>(
  adapter: SqlAdapter<Transaction>,
  transaction: Transaction,
  verb: Verb<Result>,
  running: Running,
): Promise<Result> {
  checkTransaction(transaction)
  let step = verb.next()
  while (!step.done) {
    let rows
    try {
      rows = await adapter.execute(transaction, step.value, running.planOf(step.value))
    } catch (error) {
      throw running.classify(error) ?? error
    }
    step = verb.next(rows)
  }
  return step.value
}

/** Refuses a call whose transaction was left out, before a driver says that a property of undefined cannot be read. */
function checkTransaction(transaction: unknown): void {
  if (!isObject(transaction)) throw invalid('transaction', transaction, 'must be a transaction of the driver, which comes first')
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}
