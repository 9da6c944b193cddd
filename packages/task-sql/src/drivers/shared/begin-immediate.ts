/**
 * Replaces a deferred transaction, which a library has just begun, by an immediate one. The deferred transaction is rolled back while it is empty. At
 * the end another transaction is begun, which the library can end.
 */
export async function immediateInstead(run: (text: string) => Promise<unknown>, use: () => Promise<void>): Promise<void> {
  await run('rollback')
  try {
    await use()
  } catch (error) {
    // The error of `use` says more than a failure of this `begin` would.
    await run('begin').catch(() => {})
    throw error
  }
  await run('begin')
}
