import { TaskError } from '@taskstream/task-api'

/**
 * The `TaskError` for an error, or else for one of its causes, because a library may have wrapped the driver's error. An error may be
 * its own cause.
 *
 * @param classify gives the `TaskError` for an error of the driver
 */
export function nameOf(error: unknown, classify: (error: Error) => TaskError | undefined): TaskError | undefined {
  const seen = new Set<Error>()
  try {
    for (let one = error; one instanceof Error && !(one instanceof TaskError) && !seen.has(one); one = one.cause) {
      const known = classify(one)
      if (known) return known
      seen.add(one)
    }
  } catch {
    // The code of a thrown value may throw, as a revoked proxy does. No driver throws such a value.
  }
  return undefined
}
