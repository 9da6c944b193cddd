import { TaskError } from '@taskstream/task-api'

/** ER_SP_DOES_NOT_EXIST. https://mariadb.com/kb/en/savepoint/ */
const noSuchSavepoint = 1305

const defined = new WeakSet<object>()

/**
 * Does `work` between a savepoint and its release. A deadlock ends the transaction on MariaDB and MySQL, and its savepoints with it: where `work` has
 * caught the error and gone on, the release fails, and the library does not commit. What was written in between has been committed, each
 * statement by itself. Without autocommit it would not have been, but a connection goes back to its pool as it is, and Prisma takes it away
 * when its time is up: whoever had it next would never commit.
 *
 * @throws TaskError TRANSACTION_CLOSED
 */
export async function unlessRolledBack(
  transaction: object,
  run: (text: string) => PromiseLike<unknown>,
  work: () => Promise<void>,
): Promise<void> {
  await run('savepoint taskstream')
  await work()
  if (defined.has(transaction)) return
  try {
    await run('release savepoint taskstream')
  } catch (error) {
    throw isGone(error) ? closed(error) : error
  }
}

/** Notes that definitions were made in a transaction, which each commit it on MariaDB and MySQL: there is nothing left of it to be whole. */
export function noteDefinitions(transaction: object): void {
  defined.add(transaction)
}

/** A library may have wrapped the driver's error. */
function isGone(error: unknown): boolean {
  return error instanceof Error && ((error as { errno?: number }).errno === noSuchSavepoint || isGone(error.cause))
}

function closed(cause: unknown): TaskError {
  return new TaskError(
    'TRANSACTION_CLOSED',
    'The server had ended this transaction before its commit: a deadlock in it was ignored, or a definition (create, alter, drop) was made in it. What was written after that is committed',
    {},
    { cause },
  )
}
