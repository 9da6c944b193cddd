import type { TransactionSource } from '@taskstream/task-api'
import { classifyPostgresError } from '../../dialects/postgres/errors.ts'
import { libraryTransactions } from '../shared/library-transactions.ts'
import { onlyConnection } from '../shared/only-connection.ts'
import type { PgliteTransaction } from './adapter.ts'

/** What we need of PGlite: what `new PGlite(folder)` is. */
export interface PgliteDatabase<Transaction extends PgliteTransaction = PgliteTransaction> {
  transaction(work: (transaction: Transaction) => Promise<void>): Promise<unknown>
}

/**
 * Transactions of PGlite, one after the other: it has one connection.
 *
 * @example
 * const transactions = pgliteTransactions(new PGlite('tasks'))
 * @throws what `work` throws, after a rollback; TaskError LIFECYCLE inside another transaction of this source
 */
export function pgliteTransactions<Transaction extends PgliteTransaction>(
  database: PgliteDatabase<Transaction>,
): TransactionSource<Transaction> {
  return onlyConnection(
    libraryTransactions<Transaction>(
      (work) => database.transaction(work),
      classifyPostgresError,
      // All of a node's transactions take turns: no number of them is too many.
      () => undefined,
    ),
  )
}
