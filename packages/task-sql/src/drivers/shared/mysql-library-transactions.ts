import { isTaskError, TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import { isEndExpected } from '../../core/expected-end.ts'
import { classifyMysqlError } from '../../dialects/mysql/errors.ts'
import { libraryTransactions } from './library-transactions.ts'

type Work<Transaction> = (transaction: Transaction) => Promise<void>

/** ER_SP_DOES_NOT_EXIST. https://mariadb.com/kb/en/savepoint/ */
const noSuchSavepoint = 1305

/**
 * Makes a transaction source from a library on MariaDB or MySQL. A deadlock ends a transaction on the server together with its savepoints. If `work`
 * goes on, the release of the savepoint fails, and the library does not commit. The statements after the deadlock were committed, each by itself.
 *
 * Switching autocommit off would prevent that, but a library gives its connections back without switching it on again. Prisma even takes a connection
 * away when a transaction's time is up. The next user of such a connection would never commit.
 *
 * @param transact does the work in a transaction, between a savepoint and its release
 * @param named classifies an error of the driver, even if the library has wrapped the error
 * @throws TaskError TRANSACTION_CLOSED
 */
export function mysqlLibraryTransactions<Transaction extends object>(
  transact: (work: Work<Transaction>) => Promise<unknown>,
  named: (error: unknown) => TaskError | undefined,
  connections: () => number | undefined,
  run: (transaction: Transaction, text: string) => PromiseLike<unknown>,
): TransactionSource<Transaction> {
  return libraryTransactions<Transaction>(
    async (work) => {
      let done: Transaction | undefined
      try {
        await transact(async (transaction) => {
          await work(transaction)
          done = transaction
        })
      } catch (error) {
        if (!done || !isGone(error)) throw error
        if (!isEndExpected(done)) throw closed(error)
      }
    },
    named,
    connections,
    async (transaction) => {
      try {
        await run(transaction, 'select 1')
      } catch (error) {
        throw isTaskError(classifyMysqlError(error), 'TRANSACTION_CLOSED') ? lost(error) : error
      }
    },
  )
}

export async function inSavepoint<Transaction>(
  transaction: Transaction,
  run: (text: string) => PromiseLike<unknown>,
  work: Work<Transaction>,
): Promise<void> {
  await run('savepoint taskstream')
  await work(transaction)
  await run('release savepoint taskstream')
}

/** Tells whether the savepoint is gone, as the server ended the transaction. The library may have wrapped the driver's error. */
function isGone(error: unknown): boolean {
  return error instanceof Error && ((error as { errno?: number }).errno === noSuchSavepoint || isGone(error.cause))
}

/** Makes the error for a connection that was closed inside a transaction: nobody closes it there, so it was lost. */
function lost(cause: unknown): TaskError {
  return new TaskError('DATABASE_UNAVAILABLE', 'The connection of this transaction was lost', {}, { cause })
}

function closed(cause: unknown): TaskError {
  return new TaskError(
    'TRANSACTION_CLOSED',
    'The server had ended this transaction before its commit: a deadlock in it was ignored, or a definition (create, alter, drop) was made in it. What was written after that is committed',
    {},
    { cause },
  )
}
