/** This process's monotonic clock, which can be put ahead: nobody has to wait for what is a matter of time. */
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
