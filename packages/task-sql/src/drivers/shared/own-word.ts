/** What `work` threw: the database's own word, or the work's. */
import { isTaskError, TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'

export interface OwnWord {
  readonly classify: NonNullable<TransactionSource<unknown>['classify']>
  /** Notes that the connection was lost of a transaction whose work threw this. */
  lost(thrown: unknown): void
}

/**
 * Tells an error of the database from one of whatever else `work` calls: another service may refuse a connection, or lose it, in the very same
 * words. So a lost connection counts only where it was found to be lost, and everything else by the server's code.
 *
 * @param named gives an error of the driver its name
 * @param remote whether there is a connection that could be lost: a file is read, or not, in words of its own
 */
export function ownWord(named: (error: unknown) => TaskError | undefined, remote = true): OwnWord {
  const losses = new WeakSet<object>()
  return {
    lost: (thrown) => {
      if (typeof thrown === 'object' && thrown !== null) losses.add(thrown)
    },
    classify: (error) => {
      if (typeof error === 'object' && error !== null && losses.has(error)) {
        return isTaskError(error, 'DATABASE_UNAVAILABLE')
          ? error
          : new TaskError(
              'DATABASE_UNAVAILABLE',
              `The connection of the transaction was lost (${String(error)})`,
              {},
              { cause: error },
            )
      }
      const known = taskErrorOf(error) ?? named(error)
      return known && (isServers(known) || (!remote && known.code === 'DATABASE_UNAVAILABLE')) ? known : undefined
    },
  }
}

/** Where a verb has thrown in the transaction, the error is named already. */
function taskErrorOf(error: unknown): TaskError | undefined {
  const seen = new Set<unknown>()
  for (let one = error; one instanceof Error && !seen.has(one); one = one.cause) {
    if (one instanceof TaskError) return one
    seen.add(one)
  }
  return undefined
}

/** A transaction that is open has its connection: one that another pool does not give is that one's affair. */
function isServers({ code, data }: TaskError): boolean {
  if (code === 'DATABASE_BUSY') return data['shortOf'] !== 'connections'
  return code === 'TRANSACTION_CONFLICT' || code === 'DATABASE_READ_ONLY'
}
