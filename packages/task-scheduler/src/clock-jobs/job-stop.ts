import { TaskError } from '@taskstream/task-api'
import type { Clock, StopOptions } from '@taskstream/task-processor'
import type { ClockJobFire } from './job.ts'
import type { JobRun } from './job-run.ts'

/** The options of a stop. `leaveMs` is left out, because clock jobs hold nothing in a database. */
export type ClockJobStopOptions = Omit<StopOptions, 'leaveMs'>

/** What became of the fires that were running when a stop began. */
export interface ClockJobStopReport {
  /** The fires that ended within the grace. */
  readonly finished: readonly ClockJobFire[]
  /** The fires that ended after their signal was aborted. */
  readonly aborted: readonly ClockJobFire[]
  /** The fires that did not end, because they ignore their signal. Their code goes on. */
  readonly abandoned: readonly ClockJobFire[]
}

/**
 * Waits until the runs end. When the grace is over, or `hurry` resolves, the remaining runs are aborted.
 *
 * @returns what became of the runs, at the latest after `graceMs` and `abortMs`
 */
export async function stopRuns(
  clock: Clock,
  runs: readonly JobRun[],
  { graceMs, abortMs }: Required<ClockJobStopOptions>,
  hurry: Promise<void>,
): Promise<ClockJobStopReport> {
  const ended = Promise.all(runs.map((run) => run.ended))
  if (graceMs > 0) await atMost(clock, graceMs, [ended, hurry])
  const reason = new TaskError('SHUTDOWN', 'The scheduler is stopping, and its grace is over', { graceMs })
  for (const run of runs) if (!run.isOver) run.abort(reason)
  await atMost(clock, abortMs, [ended])
  const fires = (belongs: (run: JobRun) => boolean): ClockJobFire[] => runs.filter(belongs).map(({ fire }) => fire)
  return {
    finished: fires(({ isOver, wasAborted }) => isOver && !wasAborted),
    aborted: fires(({ isOver, wasAborted }) => isOver && wasAborted),
    abandoned: fires(({ isOver }) => !isOver),
  }
}

/** Resolves when the first of these promises does, or after `ms` milliseconds. */
async function atMost(clock: Clock, ms: number, first: readonly Promise<unknown>[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(ms, resolve)
  try {
    await Promise.race([...first, promise])
  } finally {
    cancel()
  }
}
