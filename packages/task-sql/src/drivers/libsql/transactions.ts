import type { TransactionSource } from '@taskstream/task-api'
import { beginning, immediateTransactions } from '../shared/sqlite-transactions.ts'
import type { SqliteTransactionsOptions } from '../shared/sqlite-transactions.ts'
import type { LibsqlTransaction } from './adapter.ts'

/** The part of a libSQL transaction that only a transaction source uses. */
interface OpenTransaction {
  executeMultiple(sql: string): Promise<void>
  close(): void
}

/** The part of a libSQL client that a transaction source uses: `createClient({ url })` returns it. */
export interface LibsqlClient<Transaction extends LibsqlTransaction = LibsqlTransaction> {
  transaction(mode: 'deferred'): Promise<Transaction & OpenTransaction>
}

/**
 * Runs immediate transactions of libSQL, one after the other. Use the client for nothing else. While another process writes, the source
 * waits without blocking the event loop.
 *
 * @example
 * const transactions = libsqlTransactions(createClient({ url: 'file:tasks.db' }))
 * @throws the error of `work`, after a rollback; TaskError DATABASE_BUSY if another process keeps writing, LIFECYCLE inside another
 * transaction of this source
 */
export function libsqlTransactions<Transaction extends LibsqlTransaction>(
  client: LibsqlClient<Transaction>,
  options: SqliteTransactionsOptions = {},
): TransactionSource<Transaction> {
  return immediateTransactions(async (use, whenFree) => {
    const transaction = await whenFree(() => beginImmediate(client))
    try {
      await use(transaction, async (text) => {
        if (text !== beginning) await transaction.executeMultiple(text)
      })
    } finally {
      transaction.close()
    }
  }, options)
}

/**
 * Begins an immediate transaction by way of a deferred one, which is never refused. libSQL prepares its own immediate begin: if that is
 * refused, the statement stays unfinished, and no later commit succeeds on its connection. `executeMultiple` leaves no statement unfinished.
 */
async function beginImmediate<Transaction extends LibsqlTransaction>(
  client: LibsqlClient<Transaction>,
): Promise<Transaction & OpenTransaction> {
  const transaction = await client.transaction('deferred')
  try {
    await transaction.executeMultiple(`rollback; ${beginning}`)
    return transaction
  } catch (error) {
    transaction.close()
    throw error
  }
}
