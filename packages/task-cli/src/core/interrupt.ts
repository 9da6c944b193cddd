/** What Ctrl-C does: it ends the process, unless work is under way that ends in order. */
import { exitCodes } from './exit-codes.ts'

let stop: AbortController | undefined

/** Handles the first Ctrl-C in order, if `whileStoppable` runs. The second one always ends the process. */
export function onInterrupt(): void {
  if (stop === undefined || stop.signal.aborted) process.exit(exitCodes.interrupted)
  stop.abort()
}

/** Runs work that looks at the signal between its portions, and ends by itself when it is aborted. */
export async function whileStoppable<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
  stop = new AbortController()
  try {
    return await work(stop.signal)
  } finally {
    stop = undefined
  }
}
