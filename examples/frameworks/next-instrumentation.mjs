// instrumentation.js: Next calls this once for each server process, before the first request.
export async function register() {
  // Not on the edge, where there is no database driver.
  if (process.env.NEXT_RUNTIME !== 'nodejs') return
  const { db, stream } = await import('./shop.mjs')
  await stream.start({
    stopOn: ['SIGTERM', 'SIGINT'],
    // Next leaves the signals to us (NEXT_MANUAL_SIG_HANDLE), so the process is ours to end.
    onStopped: async () => {
      await db.destroy()
      process.exit()
    },
  })
}
