import { TaskError } from '@taskstream/task-api'

/** So long is the end of a transaction waited for; a server that is busy with it goes on by itself. */
const patienceMs = 10_000

/**
 * What a connection answers, if it does.
 *
 * @throws what it answers with; TaskError DATABASE_UNAVAILABLE if it says nothing
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
