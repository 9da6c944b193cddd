import { setTimeout as delay } from 'node:timers/promises'
import { abortOf, isTaskError } from '@taskstream/task-api'
import type { Abort, TransactionOptions, TransactionSource } from '@taskstream/task-api'
import { classifySqliteError } from '../../dialects/sqlite/errors.ts'
import type { SqliteTransactionsOptions } from '../shared/sqlite-transactions.ts'
import type { LibsqlTransaction } from './adapter.ts'

interface OpenTransaction extends LibsqlTransaction {
  commit(): Promise<void>
  rollback(): Promise<void>
  close(): void
}

/** What we need of libSQL: what `createClient({ url })` gives. */
export interface LibsqlClient<Transaction extends LibsqlTransaction = LibsqlTransaction> {
  transaction(mode: 'write'): Promise<Transaction>
}

const longestPauseMs = 25

/**
 * Write transactions of libSQL. While another one writes to the same file, it waits, and the event loop goes on.
 *
 * @example
 * const transactions = libsqlTransactions(createClient({ url: 'file:tasks.db' }))
 * @throws what `work` throws, after a rollback; TaskError DATABASE_BUSY
 */
export function libsqlTransactions<Transaction extends LibsqlTransaction>(
  client: LibsqlClient<Transaction>,
  { busyTimeoutMs = 10_000 }: SqliteTransactionsOptions = {},
): TransactionSource<Transaction> {
  const transact = async <Result>(
    work: (transaction: Transaction) => Result | Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result> => {
    const transaction = await begin(client, busyTimeoutMs, abortOf(options))
    const open = transaction as unknown as OpenTransaction
    try {
      const result = await work(transaction)
      await open.commit().catch(rethrow)
      return result
    } finally {
      // It rolls back what was not committed.
      open.close()
    }
  }
  return Object.assign(transact, { classify: classifySqliteError })
}

async function begin<Transaction extends LibsqlTransaction>(
  client: LibsqlClient<Transaction>,
  busyTimeoutMs: number,
  abort: Abort | undefined,
): Promise<Transaction> {
  const end = performance.now() + busyTimeoutMs
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    abort?.throwIfAborted()
    try {
      return await client.transaction('write')
    } catch (error) {
      const known = classifySqliteError(error)
      if (!isTaskError(known, 'DATABASE_BUSY') || performance.now() > end) throw known ?? error
      await delay(pauseMs * (0.5 + Math.random()))
    }
  }
}

function rethrow(error: unknown): never {
  throw classifySqliteError(error) ?? error
}
