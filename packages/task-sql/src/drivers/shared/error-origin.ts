/** Tells whether an error that `work` threw comes from the database. */
import { causesOf, isTaskError, TaskError } from '@taskstream/task-api'
import type { TransactionSource } from '@taskstream/task-api'

export interface ErrorOrigin {
  readonly classify: NonNullable<TransactionSource<unknown>['classify']>
  /** Notes that a transaction, whose work threw `thrown`, has lost its connection. */
  lost(thrown: unknown): void
}

/**
 * Tells an error of the database from an error of another service that `work` calls. Another service may refuse or lose a connection with the very
 * same words. An error counts as a lost connection only if `lost` was called with it, and as another error of the database by the server's code.
 *
 * @param named classifies an error of the driver
 * @param remote whether the database has a connection that could be lost. False for a file, whose errors have words of their own
 */
export function errorOrigin(named: (error: unknown) => TaskError | undefined, remote = true): ErrorOrigin {
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
              `The connection of the transaction was lost (${String(rootOf(error))})`,
              {},
              { cause: error },
            )
      }
      const known = taskErrorOf(error) ?? named(error)
      return known && (isServers(known) || (!remote && known.code === 'DATABASE_UNAVAILABLE')) ? known : undefined
    },
  }
}

/** Finds a TaskError in the chain of causes: a verb in the transaction may have classified the error already. */
function taskErrorOf(error: unknown): TaskError | undefined {
  const seen = new Set<unknown>()
  for (let one = error; one instanceof Error && !seen.has(one); one = one.cause) {
    if (one instanceof TaskError) return one
    seen.add(one)
  }
  return undefined
}

/** Tells whether the server gave this error. An open transaction has its connection, so a shortage of connections is another pool's. */
function isServers({ code, data }: TaskError): boolean {
  if (code === 'DATABASE_BUSY') return data['shortOf'] !== 'connections'
  return code === 'TRANSACTION_CONFLICT' || code === 'DATABASE_READ_ONLY'
}

/** A library that wraps a driver's error tells which statement it was, and the driver what has happened. */
function rootOf(error: object): unknown {
  return (error instanceof Error && causesOf(error).at(-1)) || error
}
