import type { Execution, TransactionSource } from '@taskstream/task-api'
import { expectEnd } from '@taskstream/task-sql'
import type { SqlTaskRepository, Verb, VerbContext } from '@taskstream/task-sql'

/** Runs a verb in a transaction of its own. */
export type Reading = <Result>(verb: (context: VerbContext) => Verb<Result>) => Promise<Result>

export function readingOf<Transaction>(
  tasks: SqlTaskRepository<Transaction, Execution>,
  transactions: TransactionSource<Transaction>,
): Reading {
  return <Result>(verb: (context: VerbContext) => Verb<Result>) => {
    const run = tasks.verb(verb) as (transaction: Transaction) => Result | Promise<Result>
    return transactions<Result>((transaction) => {
      // A look begins a transaction that only reads. On MariaDB and MySQL that ends the one of the source.
      expectEnd(transaction as object)
      return run(transaction)
    })
  }
}
