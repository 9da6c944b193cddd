import { TaskError } from '@taskstream/task-api'

/** How long a caller waits for the end of a transaction. A server that is busy with the rollback finishes without us. */
const patienceMs = 10_000

/**
 * Waits for the answer of a connection, for up to ten seconds.
 *
 * @throws the error of `asked`; TaskError DATABASE_UNAVAILABLE if there was no answer in time
 */
export async function answered<Result>(asked: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => reject(new TaskError('DATABASE_UNAVAILABLE', `The database has not answered for ${patienceMs} ms`, { patienceMs })),
    patienceMs,
  )
  try {
    return await Promise.race([asked, promise])
  } finally {
    clearTimeout(timer)
  }
}
