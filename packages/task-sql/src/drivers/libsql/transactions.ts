import type { TransactionSource } from '@taskstream/task-api'
import { beginning, immediateTransactions } from '../shared/sqlite-transactions.ts'
import type { SqliteTransactionsOptions } from '../shared/sqlite-transactions.ts'
import type { LibsqlTransaction } from './adapter.ts'

/** What else a transaction of libSQL has. */
interface OpenTransaction {
  executeMultiple(sql: string): Promise<void>
  close(): void
}

/** What we need of libSQL: what `createClient({ url })` gives. */
export interface LibsqlClient<Transaction extends LibsqlTransaction = LibsqlTransaction> {
  transaction(mode: 'deferred'): Promise<Transaction & OpenTransaction>
}

/**
 * Immediate transactions of libSQL, one after the other. The client is this source's own. While another process writes, the source waits
 * without blocking the event loop.
 *
 * @example
 * const transactions = libsqlTransactions(createClient({ url: 'file:tasks.db' }))
 * @throws what `work` throws, after a rollback; TaskError DATABASE_BUSY if another process keeps writing, LIFECYCLE inside another
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
 * A begin that libSQL has prepared stays unfinished where it is refused, and no later commit succeeds on its connection. What `executeMultiple` is
 * given is finished either way; a transaction has it, and a deferred begin is never refused.
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
