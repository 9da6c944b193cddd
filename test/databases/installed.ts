/** Skips an engine that is not installed, and says so. An engine that is installed but does not start is a failure. */

/** Thrown if a program or a package is not on this machine. */
export class NotInstalled extends Error {}

/**
 * Starts an engine. If it is not installed, its tests are skipped and a sentence on stderr says so. With `required`, as on CI, nothing is skipped,
 * because a skip would look like a pass.
 *
 * @throws the error of an installed engine that does not start; NotInstalled if the engine is required
 */
export async function startInstalled<Engine>(
  name: string,
  required: boolean,
  start: () => Promise<Engine>,
): Promise<Engine | undefined> {
  try {
    return await start()
  } catch (error) {
    if (!(error instanceof NotInstalled) || required) throw error
    process.stderr.write(`${name} is left out, and its tests are skipped: ${error.message}.\n`)
    return undefined
  }
}
