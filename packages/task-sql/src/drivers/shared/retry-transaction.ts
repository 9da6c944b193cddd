/** How far a transaction has come, and whether it is run again: shared by the sources that begin and commit transactions themselves. */
import { setTimeout as delay } from 'node:timers/promises'
import { checkInteger, isTaskError } from '@taskstream/task-api'
import type { Abort } from '@taskstream/task-api'

/** How far a transaction has come. `lost` means that its connection was lost before its commit was sent. */
export type Phase = 'connecting' | 'working' | 'committing' | 'lost'

export interface RepeatOptions {
  /**
   * How often `work` is run again if certainly nothing of it was committed, 0 to 100. Default 3. The pauses in between grow, up to a second. Effects of
   * `work` outside its transaction happen again: give 0 if they must not.
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

/** Runs `attempt` again, after a pause, as long as `mayRepeat` allows for its error and `abort` has not happened. */
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

/** Tells whether a failed transaction certainly committed nothing, and may succeed the next time. `named` is the error after its classification. */
export function isRepeatable(named: unknown, phase: Phase): boolean {
  // By this error the server says that it rolled back or did nothing, even in answer to a commit.
  if (isTaskError(named, 'TRANSACTION_CONFLICT')) return true
  // A lost connection counts whatever `work` threw for it. Other errors may come from another service that `work` calls. After a lock timeout or a
  // full disk, a repeat at once would fail again: the caller may repeat later.
  return phase === 'lost' || (phase === 'working' && isTaskError(named, 'DATABASE_READ_ONLY'))
}
