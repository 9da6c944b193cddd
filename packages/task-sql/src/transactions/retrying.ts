import { setTimeout as delay } from 'node:timers/promises'
import { isTaskError } from '@taskstream/task-api'
import type { TaskError } from '@taskstream/task-api'

const firstPauseMs = 20
const longestPauseMs = 1_000

/** How far a transaction has come; `lost`: to the end of its connection, before its commit was sent. */
export type Phase = 'connecting' | 'working' | 'committing' | 'lost'

/** Runs a transaction, and again after a pause where it certainly left nothing and may succeed the next time, so many times at most. */
export async function retrying<Result>(
  retries: number,
  classify: (error: unknown) => TaskError | undefined,
  once: (enter: (phase: Phase) => void) => Promise<Result>,
): Promise<Result> {
  for (let count = 0; ; count++) {
    let phase: Phase = 'connecting'
    try {
      return await once((next) => (phase = next))
    } catch (error) {
      // Errors of the work's own statements come as the driver threw them.
      if (count >= retries || !isRepeatable(classify(error) ?? error, phase)) throw error
      await delay(Math.min(firstPauseMs * 2 ** count, longestPauseMs) * (0.5 + Math.random() / 2))
    }
  }
}

function isRepeatable(known: unknown, phase: Phase): boolean {
  // The server's own word that it rolled back, or that nothing was done.
  if (isTaskError(known, 'TRANSACTION_CONFLICT')) return true
  // Whatever the work made of the error that it saw. Its other errors are its own: a service that it calls may refuse a connection too.
  return phase === 'lost' || (phase === 'working' && isTaskError(known, 'DATABASE_READ_ONLY'))
}
