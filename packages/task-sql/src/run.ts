import type { Execution, Outcome } from '@taskstream/task-api'
import type { Dialect } from './dialect.ts'
import type { SqlAdapter, Verb } from './transaction.ts'

/** What running asks of a dialect. */
type SpokenDialect = Pick<Dialect, 'classify' | 'keepsPlans'>

/** Drives a verb's statements through a transaction: at once on a synchronous adapter, awaiting each on an asynchronous one. */
export function run<Transaction, E extends Execution, Result>(
  adapter: SqlAdapter<Transaction, E>,
  transaction: Transaction,
  verb: Verb<Result>,
  dialect: SpokenDialect,
): Outcome<E, Result> {
  const outcome =
    adapter.execution === 'sync' ? runSync(adapter, transaction, verb, dialect) : runAsync(adapter, transaction, verb, dialect)
  return outcome as Outcome<E, Result>
}

function runSync<Transaction, Result>(
  adapter: SqlAdapter<Transaction>,
  transaction: Transaction,
  verb: Verb<Result>,
  dialect: SpokenDialect,
): Result {
  let step = verb.next()
  while (!step.done) {
    let rows
    try {
      rows = (adapter as SqlAdapter<Transaction, 'sync'>).execute(transaction, step.value, dialect.keepsPlans)
    } catch (error) {
      throw dialect.classify(error) ?? error
    }
    step = verb.next(rows)
  }
  return step.value
}

async function runAsync<Transaction, Result>(
  adapter: SqlAdapter<Transaction>,
  transaction: Transaction,
  verb: Verb<Result>,
  dialect: SpokenDialect,
): Promise<Result> {
  let step = verb.next()
  while (!step.done) {
    let rows
    try {
      rows = await adapter.execute(transaction, step.value, dialect.keepsPlans)
    } catch (error) {
      throw dialect.classify(error) ?? error
    }
    step = verb.next(rows)
  }
  return step.value
}
