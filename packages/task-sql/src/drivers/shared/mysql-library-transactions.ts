import { isTaskError, TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'
import { madeDefinitions } from '../../core/definitions.ts'
import { classifyMysqlError } from '../../dialects/mysql/errors.ts'
import { libraryTransactions } from './library-transactions.ts'

type Work<Transaction> = (transaction: Transaction) => Promise<void>

/** ER_SP_DOES_NOT_EXIST. https://mariadb.com/kb/en/savepoint/ */
const noSuchSavepoint = 1305

/**
 * A library's transactions on MariaDB and MySQL. A deadlock ends one on the server, and its savepoints with it: where `work` has caught the error and
 * gone on, the release of a savepoint fails, and the library does not commit. What was written in between has been committed, each statement by
 * itself. Without autocommit it would not have been, but a connection goes back to its pool as it is, and Prisma takes it away when its
 * time is up: whoever had it next would never commit.
 *
 * @param transact does the work in a transaction, between a savepoint and its release
 * @param named gives an error of the driver its name, also one that the library has wrapped
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
        if (!madeDefinitions(done)) throw closed(error)
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

/** A library may have wrapped the driver's error. */
function isGone(error: unknown): boolean {
  return error instanceof Error && ((error as { errno?: number }).errno === noSuchSavepoint || isGone(error.cause))
}

/** In the midst of a transaction nobody but its loss has closed a connection. */
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
