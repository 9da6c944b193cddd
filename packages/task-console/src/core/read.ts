import type { Execution, TransactionSource } from '@taskstream/task-api'
import { beginLimit, endLimit } from '@taskstream/task-sql'
import type { SqlTaskRepository } from '@taskstream/task-sql'
import type { AnyTransaction, Context } from './context.ts'

/**
 * Makes transactions that only read, and of which each statement ends in time where the server can do that: PostgreSQL for the transaction, MariaDB and
 * MySQL for the session, which belongs to a pool and gets its own limit back. SQLite has no such limit: it answers in this thread, so questions are bounded.
 */
export function readWithin(
  tasks: SqlTaskRepository<AnyTransaction, Execution>,
  transactions: TransactionSource<AnyTransaction>,
  mostMs: number,
): Context['read'] {
  const begin = tasks.verb(({ dialect }) => beginLimit(dialect, mostMs))
  const end = tasks.verb(({ dialect }) => endLimit(dialect))
  return (work) =>
    transactions(async (transaction) => {
      await tasks.limitStatements(transaction, mostMs)
      await begin(transaction)
      try {
        return await work(transaction)
      } finally {
        await end(transaction)
      }
    })
}
