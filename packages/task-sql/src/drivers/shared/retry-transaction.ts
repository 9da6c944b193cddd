/** What the transactions of our own have in common: how far one has come, and whether it is run again. */
import { setTimeout as delay } from 'node:timers/promises'
import { checkInteger, isTaskError } from '@taskstream/task-api'
import type { Abort } from '@taskstream/task-api'

/** How far a transaction has come; `lost`: to the end of its connection, before its commit was sent. */
export type Phase = 'connecting' | 'working' | 'committing' | 'lost'

export interface RepeatOptions {
  /**
   * How often `work` is run again when nothing of it can have been committed, 0 to 100. Default 3. Each time after a longer pause, of
   * at most a second. What `work` does outside its transaction then happens again: 0 for work that cannot bear it.
   */
  readonly retries?: number
}

const firstPauseMs = 20
const longestPauseMs = 1_000

/** @throws TaskError ARGUMENT_INVALID */
export function checkRetries({ retries = 3 }: RepeatOptions): number {
  checkInteger('retries', retries, 0, 100)
  return retries
}

/** Runs `attempt` again, after a pause, as long as `mayRepeat` says so of what it throws, and nobody has given it up. */
export async function repeat<Result>(
  retries: number,
  attempt: (enter: (phase: Phase) => void) => Promise<Result>,
  mayRepeat: (error: unknown, phase: Phase) => boolean,
  abort: Abort | undefined,
): Promise<Result> {
  for (let count = 0; ; count++) {
    let phase: Phase = 'connecting'
    try {
      return await attempt((next) => (phase = next))
    } catch (error) {
      abort?.throwIfAborted()
      if (!mayRepeat(error, phase) || count >= retries) throw error
      await delay(Math.min(firstPauseMs * 2 ** count, longestPauseMs) * (0.5 + Math.random() / 2))
      abort?.throwIfAborted()
    }
  }
}

/** Whether a transaction that failed in this phase, with this error by its name, certainly left nothing, and may succeed the next time. */
export function isRepeatable(named: unknown, phase: Phase): boolean {
  // The server's own word that it rolled back, also in answer to a commit, or that nothing was done.
  if (isTaskError(named, 'TRANSACTION_CONFLICT')) return true
  // Whatever `work` made of the error that it saw. Its other errors are its own: a service that it calls may refuse a connection too. Who was
  // given no lock in time, or no room, has waited already, or would find the same: that is for the caller to repeat, a little later.
  return phase === 'lost' || (phase === 'working' && isTaskError(named, 'DATABASE_READ_ONLY'))
}
