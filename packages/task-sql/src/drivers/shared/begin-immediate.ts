/**
 * Makes room for an immediate transaction where a library has just begun a deferred one: that is ended before anything was done in it, and another one
 * is left for the library to end.
 */
export async function immediateInstead(run: (text: string) => Promise<unknown>, use: () => Promise<void>): Promise<void> {
  await run('rollback')
  try {
    await use()
  } catch (error) {
    // What was thrown says more than that the library's connection is gone too.
    await run('begin').catch(() => {})
    throw error
  }
  await run('begin')
}
