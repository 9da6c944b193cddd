import { TaskError } from '@taskstream/task-api'

/**
 * A commit after which another transaction begins, which postgres.js then commits in vain.
 *
 * postgres.js sends its own `commit` as a prepared statement. If the connection has lost that, because of `DEALLOCATE ALL` or behind a pooler, the server
 * refuses it and gives up the transaction. postgres.js sends it once more, the server answers with a rollback, and postgres.js takes that for success.
 */
export const commitAndChain = 'commit and chain'

/** Whether a driver is postgres.js, and prepares its commits. */
export function preparesCommits(client: unknown): boolean {
  if (typeof client !== 'function') return false
  const { begin, options } = client as unknown as { readonly begin?: unknown; readonly options?: { readonly prepare?: unknown } }
  return typeof begin === 'function' && typeof options === 'object' && options.prepare !== false
}

/** @throws TaskError TRANSACTION_CLOSED if the server has answered the commit of an aborted transaction, which is a rollback */
export function checkCommitted(answer: unknown): void {
  if ((answer as { readonly command?: unknown } | undefined)?.command === 'ROLLBACK')
    throw new TaskError('TRANSACTION_CLOSED', 'An error was ignored inside the transaction: it was rolled back')
}
