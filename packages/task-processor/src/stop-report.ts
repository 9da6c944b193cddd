import { checkNames, optionNames, checkDuration } from '@taskstream/task-api'
import type { HeldTask } from '@taskstream/task-api'
import type { Batch } from './batch.ts'

/** What became of the tasks that were held when a stop began: each is in one of the three. */
export interface StopReport {
  /** Completed, before their time was up. */
  readonly finished: readonly HeldTask[]
  /** Handed back, undone: ready again, with their try refunded. */
  readonly returned: readonly HeldTask[]
  /**
   * Neither: the database could not be reached, or would write nothing of them, or they were lost before. While the node lives, it goes on trying to
   * hand them back; when the owner is dead, they are taken from it.
   */
  readonly abandoned: readonly HeldTask[]
}

export interface StopOptions {
  /** How long handlers may go on, in milliseconds. Default 10 000. */
  readonly graceMs?: number
  /** How long they may take to let go once they are asked to, in milliseconds. Default 2 000. */
  readonly abortMs?: number
  /**
   * How long the database may take for what is left to be done then: to hand back what is still held, and to remove the owner, in milliseconds.
   * Default 10 000. A stop takes no longer than the three together, whatever handlers and database do.
   */
  readonly leaveMs?: number
}

const names = optionNames<StopOptions>('stop', { graceMs: true, abortMs: true, leaveMs: true })

/** @returns them with their defaults @throws TaskError ARGUMENT_INVALID */
export function checkStopOptions(options: StopOptions): Required<StopOptions> {
  checkNames(names, options)
  const { graceMs = 10_000, abortMs = 2_000, leaveMs = 10_000 } = options
  checkDuration('graceMs', graceMs)
  checkDuration('abortMs', abortMs)
  checkDuration('leaveMs', leaveMs)
  return { graceMs, abortMs, leaveMs }
}

export const nothingHeld: StopReport = { finished: [], returned: [], abandoned: [] }

/**
 * @param left held by batches that had ended before, and could be neither completed nor handed back then
 * @param wasReturned whether such a task has been handed back since
 */
export function reportOf(
  batches: Iterable<Batch>,
  left: readonly HeldTask[],
  wasReturned: (task: HeldTask) => boolean,
): StopReport {
  const all = [...batches]
  const held = [...all.flatMap((batch) => batch.tasks), ...left]
  // A poll under way may have brought again what was handed back a moment before: a task is reported once.
  const reported = new Set<number>()
  const once = (tasks: readonly HeldTask[]): HeldTask[] =>
    tasks.filter(({ sequence }) => !reported.has(sequence) && reported.add(sequence))
  return {
    finished: once(all.flatMap((batch) => batch.finished)),
    returned: once([...all.flatMap((batch) => batch.returned), ...held.filter(wasReturned)]),
    abandoned: once(held),
  }
}

/** The report of several topics. */
export function joinReports(reports: readonly StopReport[]): StopReport {
  return {
    finished: reports.flatMap(({ finished }) => finished),
    returned: reports.flatMap(({ returned }) => returned),
    abandoned: reports.flatMap(({ abandoned }) => abandoned),
  }
}
