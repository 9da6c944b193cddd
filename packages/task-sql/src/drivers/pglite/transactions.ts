import type { TransactionSource } from '@taskstream/task-api'
import { classifyPostgresError } from '../../dialects/postgres/errors.ts'
import { libraryTransactions } from '../shared/library-transactions.ts'
import { onlyConnection } from '../shared/only-connection.ts'
import type { PgliteTransaction } from './adapter.ts'

/** The part of a `PGlite` that a transaction source uses. */
export interface PgliteDatabase<Transaction extends PgliteTransaction = PgliteTransaction> {
  transaction(work: (transaction: Transaction) => Promise<void>): Promise<unknown>
}

/**
 * Runs transactions of PGlite, one after the other, as PGlite has one connection.
 *
 * @example
 * const transactions = pgliteTransactions(new PGlite('tasks'))
 * @throws the error of `work`, after a rollback; TaskError LIFECYCLE inside another transaction of this source
 */
export function pgliteTransactions<Transaction extends PgliteTransaction>(
  database: PgliteDatabase<Transaction>,
): TransactionSource<Transaction> {
  return onlyConnection(
    libraryTransactions<Transaction>(
      (work) => database.transaction(work),
      classifyPostgresError,
      // A node's transactions take turns on the one connection, so a node needs no check of their number.
      () => undefined,
    ),
  )
}
