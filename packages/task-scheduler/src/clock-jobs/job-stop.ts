import { TaskError } from '@taskstream/task-api'
import type { Clock, StopOptions } from '@taskstream/task-processor'
import type { ClockJobFire } from './job.ts'
import type { JobRun } from './job-run.ts'

/** There is no database to be left. */
export type ClockJobStopOptions = Omit<StopOptions, 'leaveMs'>

/** What became of the fires that were under way when a stop began. */
export interface ClockJobStopReport {
  /** Ended, before their time was up. */
  readonly finished: readonly ClockJobFire[]
  /** Ended when they were asked to. */
  readonly aborted: readonly ClockJobFire[]
  /** Neither: they do not listen to their signal. Their code goes on. */
  readonly abandoned: readonly ClockJobFire[]
}

/**
 * Waits until runs end; when the grace is over, or `hurry` resolves, it asks them to.
 *
 * @returns what became of them; at the latest when both times are up
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

/** Resolves with the first of these, or when so many milliseconds have passed. */
async function atMost(clock: Clock, ms: number, first: readonly Promise<unknown>[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const cancel = clock.after(ms, resolve)
  try {
    await Promise.race([...first, promise])
  } finally {
    cancel()
  }
}
