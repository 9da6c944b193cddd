/** What is not installed is left out, and said; what is installed and does not start is a failure. */

/** A program or a package is not on this machine: nothing is wrong with it. */
export class NotInstalled extends Error {}

/**
 * Starts an engine, unless it is not installed: then its tests are skipped, and a sentence on stderr says so. `required`: a skip would read as
 * covered, as on CI.
 *
 * @throws whatever kept an engine that is installed from starting; NotInstalled if it is required
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
