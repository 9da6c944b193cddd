import { onInterrupt } from '../core/interrupt.ts'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Within this time a second signal counts as the first: npm passes on what the terminal has sent already. In milliseconds. */
const sameMs = 250

const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

/**
 * Asks for a stop at the first signal to end. A second one ends the process at once, as shells report it; what it leaves is taken by others.
 *
 * @returns an object that stops listening when it is disposed
 */
export function onSignals(stop: (signal: string) => void, say: (line: string) => void): Disposable {
  let firstMs: number | undefined
  const asked = (signal: (typeof signals)[number]): void => {
    if (firstMs === undefined) {
      firstMs = performance.now()
      stop(signal)
    } else if (performance.now() - firstMs > sameMs) {
      say(`${signal} again: ended at once; what was at work is tried again when its lease has run out`)
      // Programs are killed, and files removed, by what listens to the exit.
      process.exit(exitCodes[signal])
    }
  }
  // Other commands end at once.
  process.off('SIGINT', onInterrupt)
  for (const signal of signals) process.on(signal, asked)
  return {
    [Symbol.dispose]: () => {
      for (const signal of signals) process.off(signal, asked)
      process.on('SIGINT', onInterrupt)
    },
  }
}
