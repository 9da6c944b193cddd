/** Puts this process's monotonic clock ahead, so that no test has to wait for time to pass. */
export function clockAhead(): Disposable & { readonly pass: (ms: number) => void } {
  const { now } = performance
  let ahead = 0
  performance.now = () => now.call(performance) + ahead
  return {
    pass: (ms) => void (ahead += ms),
    [Symbol.dispose]: () => {
      performance.now = now
    },
  }
}
